"""
MCAR, MAR, MNAR
===============

Three reasons why cells are missing. Under the first two, values can be judged; under the third, observed values change
with what is missing, and nobody can tell the difference.
"""

import matplotlib.pyplot as plt
import numpy as np

import gapdrift as gd

rng = np.random.default_rng(0)
hide = {"MCAR": gd.datasets.hide_mcar, "MAR": gd.datasets.hide_mar, "MNAR": gd.datasets.hide_mnar}


def rows():
    """Two columns that go together."""
    return rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 1_000)


# %%
# In each case the second column goes from 20 to 50 % missing, and the values stay as they are.
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained")
for axes, (name, function) in zip(panels, hide.items(), strict=True):
    window = rows()
    hidden = function(window, [0.0, 0.5], rng)
    result = gd.compare(function(rows(), [0.0, 0.2], rng), hidden)
    missing = np.isnan(hidden[:, 1])
    axes.scatter(*window[~missing].T, s=4, color="#0b5fa5")
    axes.scatter(*window[missing].T, s=5, facecolors="none", edgecolors="#d9641e", lw=0.5)
    axes.set_title(f"{name}\nvalues p = {result.values.p_value:.2g}", fontsize=10)

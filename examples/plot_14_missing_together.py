"""
Cells that are missing together
===============================

The share of missing cells stays the same in every column. What changes is that two columns are missing together now: a
cable that both sensors share.
"""

import matplotlib.pyplot as plt
import numpy as np

import gapdrift as gd

rng = np.random.default_rng(0)


def readings(together):
    """Three columns with a fifth of each missing."""
    values = rng.normal(size=(1_000, 3))
    hidden = rng.random((1_000, 3)) < 0.2
    if together:
        hidden[:, 1] = hidden[:, 0]
    values[hidden] = np.nan
    return values


reference, window = readings(together=False), readings(together=True)
result = gd.compare(reference, window)
print(result.summary())

# %%
# The first 60 rows of each side: dark cells are missing.
figure, panels = plt.subplots(2, 1, figsize=(8, 2.4), layout="constrained")
for axes, table, title in zip(panels, (reference, window), ("reference", "window"), strict=True):
    axes.imshow(np.isnan(table[:60]).T, aspect="auto", cmap="Greys", interpolation="nearest")
    axes.set(title=title, yticks=range(3), xticks=[])

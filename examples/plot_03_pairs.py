"""
Columns that no longer go together
==================================

Each column of the window looks as before. What changed is how humidity follows the temperature: `result.pairs` says so,
with the correlation on both sides.
"""

import matplotlib.pyplot as plt
import numpy as np

import gapdrift as gd

reference, window = gd.datasets.stations(1_000, rng=0), gd.datasets.stations(1_000, rng=2, drift=True)
result = gd.compare(reference, window)
for pair in result.pairs:
    print(pair.first, pair.second, pair.reference.correlation, "->", pair.window.correlation)

# %%
# Only rows that have both cells can be drawn; the test uses all rows.
figure, panels = plt.subplots(1, 2, figsize=(7.5, 3.4), sharex=True, sharey=True, layout="constrained")
for axes, table, title in zip(panels, (reference, window), ("reference", "window"), strict=True):
    both = ~np.isnan(table["temperature"]) & ~np.isnan(table["humidity"])
    axes.scatter(table["temperature"][both], table["humidity"][both], s=6)
    axes.set(title=f"{title}: {both.sum()} of 1,000 rows have both", xlabel="temperature")
_ = panels[0].set_ylabel("humidity")

"""
The distribution of one column
==============================

A price list gets a new round price. The mean hardly moves, but a quarter of the rows has the same value now.
"""

import numpy as np

import gapdrift as gd

rng = np.random.default_rng(0)
reference = {"price": rng.lognormal(3, 0.4, 1_000), "weight": rng.normal(2, 0.3, 1_000)}
window = {"price": rng.lognormal(3, 0.4, 1_000), "weight": rng.normal(2, 0.3, 1_000)}
window["price"][rng.random(1_000) < 0.25] = 19.99
result = gd.compare(reference, window)
print(result.summary())

# %%
figure = result.plot("price")
figure

"""
A first verdict
===============

Two tables of weather readings with a fifth of all cells missing. In the second one the humidity sensor has failed: its
readings no longer follow the temperature, though each column on its own looks as before.
"""

import gapdrift as gd

reference = gd.datasets.stations(1_000, rng=0)
window = gd.datasets.stations(1_000, rng=2, drift=True)
result = gd.compare(reference, window)
print(result.summary())

# %%
# The picture shows how much each column changed, and which changes are more than chance.
figure = result.plot()
figure

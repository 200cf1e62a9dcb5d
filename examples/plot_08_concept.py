"""
Inputs move, or the label does
==============================

Houses become larger, and prices with them: the inputs moved, the concept did not. Or a square metre costs less: then
the concept changed. With ``target`` the two are tested apart.
"""

import matplotlib.pyplot as plt
import numpy as np

import gapdrift as gd

rng = np.random.default_rng(0)


def houses(slope=2.0, larger=0.0):
    """A thousand houses, whose age is missing in a fifth of the rows."""
    size = rng.normal(larger, 1.0, 1_000)
    age = np.where(rng.random(1_000) < 0.2, np.nan, rng.normal(size=1_000))
    return {"size": size, "age": age, "price": slope * size + rng.normal(size=1_000)}


reference = houses()
detector = gd.DriftDetector(random_state=0, target="price").fit(reference)
windows = {"as before": houses(), "larger houses": houses(larger=1.0), "cheaper square metres": houses(slope=1.0)}

# %%
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained")
for axes, (name, window) in zip(panels, windows.items(), strict=True):
    result = detector.test(window)
    axes.scatter(reference["size"], reference["price"], s=3, color="#cdd9e5")
    axes.scatter(window["size"], window["price"], s=3, color="#0b5fa5")
    verdicts = ["drift" if p < 0.05 else "-" for p in (result.values.parts[0].p_value, result.concept.p_value)]
    axes.set(title=f"{name}\ninputs: {verdicts[0]}, concept: {verdicts[1]}", xlabel="size")
_ = panels[0].set_ylabel("price")

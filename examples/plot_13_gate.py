"""
A gate in a pipeline
====================

A step of a scikit-learn pipeline that lets rows through and tests them on the way against those that the model was
trained on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline

import gapdrift as gd

rng = np.random.default_rng(0)


def rows(mean):
    """Three columns, a tenth of the cells missing, and the label."""
    values = rng.normal(mean, 1, (500, 3))
    return gd.datasets.hide_mcar(values, 0.1, rng), values.sum(axis=1) ** 2


model = make_pipeline(gd.DriftGate(), HistGradientBoostingRegressor(max_iter=40)).fit(*rows(0.0))
means, errors, drifts = np.linspace(0, 1.5, 7), [], []
for mean in means:
    X, y = rows(mean)
    errors.append(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    drifts.append(model[0].result_.drift)

# %%
# The gate closes before the predictions have become much worse.
figure, axes = plt.subplots(figsize=(6.5, 3), layout="constrained")
axes.plot(means, errors, color="#9fb8cf")
axes.scatter(means, errors, color=["#d9641e" if drift else "#0b5fa5" for drift in drifts], zorder=3)
_ = axes.set(xlabel="shift of the inputs (orange: drift)", ylabel="error of the predictions")

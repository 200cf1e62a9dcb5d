"""
Where rows lie
==============

Bins are regions of similar rows. A group of customers that was not there before shows as bins that gained rows,
described in the units of your columns.
"""

import matplotlib.pyplot as plt
import numpy as np

import gapdrift as gd

rng = np.random.default_rng(0)


def customers(n, young=0):
    """Age and spending, a tenth missing; some of them young and spending much."""
    ages = np.concatenate([rng.normal(45, 10, n - young), rng.normal(22, 2, young)])
    spent = np.concatenate([rng.normal(50, 12, n - young), rng.normal(90, 5, young)])
    return dict(zip(("age", "spent"), gd.datasets.hide_mcar(np.column_stack([ages, spent]), 0.1, rng).T, strict=True))


reference, window = customers(1_000), customers(1_000, young=80)
result = gd.compare(reference, window)
for region in sorted(result.bins, key=lambda region: -region.contribution)[:3]:
    print(f"{region.share_reference:.1%} -> {region.share_window:.1%}: {region.description}")

# %%
figure, axes = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
axes.scatter(reference["age"], reference["spent"], s=5, color="#cdd9e5", label="reference")
axes.scatter(window["age"], window["spent"], s=5, color="#0b5fa5", label="window")
axes.set(xlabel="age", ylabel="spent")
_ = axes.legend()

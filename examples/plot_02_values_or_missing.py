"""
Values, or what is missing?
===========================

A bad radio link loses twice as many readings. The values that do arrive are as before. The two verdicts are separate.
"""

import math

import matplotlib.pyplot as plt

import gapdrift as gd

detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(1_000, rng=0))
windows = {
    "nothing changed": gd.datasets.stations(500, rng=1),
    "more missing": gd.datasets.stations(500, rng=2, missing=0.4),
    "sensor failed": gd.datasets.stations(500, rng=3, drift=True),
}
results = {name: detector.test(window) for name, window in windows.items()}

# %%
# One bar is the p-value of the values, the other that of the missing cells: high bars are sure.
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for place, result in enumerate(results.values()):
    for shift, finding, colour in ((-0.2, result.values, "#0b5fa5"), (0.2, result.missingness, "#d9641e")):
        axes.bar(place + shift, -max(-12.0, math.log10(finding.p_value)), 0.38, color=colour)
axes.axhline(1.3, color="black", lw=0.8, ls=":")
axes.set(xticks=range(3), ylabel="-log10 p-value (at most 12)")
axes.set_xticklabels(results)
_ = axes.legend(["alpha 0.05", "values", "missing values"])

"""
The published method, and its repair
====================================

MDL-FWF divides incomplete rows among bins and compares the bins by Pearson's chi-square test, which was made for whole
rows. Wald's test of the same bins knows how much divided rows vary.
"""

import matplotlib.pyplot as plt
import numpy as np

import gapdrift as gd

rng = np.random.default_rng(0)
reference = gd.datasets.hide_mcar(rng.normal(size=(600, 4)), 0.2, rng)
shifts = np.linspace(0, 0.6, 7)
windows = [gd.datasets.hide_mcar(rng.normal(shift, 1, (600, 4)), 0.2, rng) for shift in shifts]
p_values = {}
for test in ("pearson", "wald"):
    detector = gd.MDLFWF(test=test, random_state=0).fit(reference)
    p_values[test] = [max(detector.test(window).p_value, 1e-12) for window in windows]
ours = gd.DriftDetector(random_state=0).fit(reference)
p_values["DriftDetector"] = [max(ours.test(window).p_value, 1e-12) for window in windows]

# %%
figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for name, values in p_values.items():
    axes.semilogy(shifts, values, "o-", label=name)
axes.axhline(0.05, color="black", lw=0.8, ls=":")
axes.set(xlabel="shift of all means, in standard deviations", ylabel="p-value (1e-12 where smaller)")
_ = axes.legend()

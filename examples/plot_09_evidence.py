"""
Evidence adds up
================

A week counted day by day, perhaps on seven machines, is the week: the p-values of sums of evidence are those of all
rows together. The more days, the surer a small change becomes.
"""

import matplotlib.pyplot as plt
import numpy as np

import gapdrift as gd

rng = np.random.default_rng(0)
detector = gd.DriftDetector(random_state=0).fit(gd.datasets.hide_mcar(rng.normal(size=(3_000, 2)), 0.2, rng))
days = [gd.datasets.hide_mcar(rng.normal([0.15, 0.0], 1.0, (200, 2)), 0.2, rng) for _ in range(7)]
evidence = [detector.count(day) for day in days]
together = detector.test(np.vstack(days)).p_value
added = detector.test(sum(evidence[1:], evidence[0])).p_value
print(f"all rows {together:.3g}, added up {added:.3g}")

# %%
p_values = [detector.test(sum(evidence[1:n], evidence[0])).p_value for n in range(1, 8)]
figure, axes = plt.subplots(figsize=(6.5, 3), layout="constrained")
axes.semilogy(range(1, 8), [detector.test(each).p_value for each in evidence], "o", color="#9fb8cf", label="each day")
axes.semilogy(range(1, 8), p_values, "o-", color="#0b5fa5", label="all days so far")
axes.axhline(0.05, color="black", lw=0.8, ls=":")
axes.set(xlabel="day", ylabel="p-value")
_ = axes.legend()

"""
Days that usually differ
========================

Every day has a level of its own. Row by row each of them is drift; compared with how days usually differ, only the day
with a fault is.
"""

import matplotlib.pyplot as plt
import numpy as np

import gapdrift as gd

rng = np.random.default_rng(1)


def day(fault=0.0):
    """A hundred readings of one day, which has a level of its own."""
    return {"x": rng.normal() + fault + rng.normal(size=100), "y": rng.normal(size=100)}


history = [day() for _ in range(30)]
detector = gd.DriftDetector(random_state=0).fit(None, batches=history)
results = [detector.test(day(fault)) for fault in (0, 0, 0, 0, 0, 0, 0, 6)]
print([result.drift for result in results])

# %%
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.semilogy([max(result.usual.rows_p_value, 1e-12) for result in results], "s", label="rows taken as independent")
axes.semilogy([result.p_value for result in results], "o", label="compared with the usual variation")
axes.axhline(0.05, color="black", lw=0.8, ls=":")
axes.set(xlabel="day (the last one has a fault)", ylabel="p-value (1e-12 where smaller)")
_ = axes.legend()

"""
Slow drift: evidence over many windows
======================================

A column moves by a tenth of its standard deviation: too little for any single window of 200 rows. With
``sequential=True`` evidence accumulates, and the alarm says when the change began.
"""

import matplotlib.pyplot as plt
import numpy as np

import gapdrift as gd

rng = np.random.default_rng(0)
detector = gd.DriftDetector(random_state=0).fit(rng.normal(size=(2_000, 3)))
stream = rng.normal(size=(12_000, 3))[:11_000]
stream[6_000:, 0] += 0.1
windows = gd.Monitor(detector, window=200, sequential=True).advance(stream)
alarm = next(window for window in windows if window.drift)
print(alarm.summary())

# %%
# The change came at row 6,000, which is window 30.
figure, axes = plt.subplots(figsize=(7.5, 3), layout="constrained")
axes.semilogy([window.index for window in windows], [max(window.evidence, 1) for window in windows])
axes.axhline(1_000, color="black", lw=0.8, ls=":")
axes.axvline(30, color="#2e8b57", lw=0.8)
axes.axvline(alarm.change_window, color="#d9641e", lw=0.8, ls="--")
_ = axes.set(xlabel="window (green: the change; orange: its estimate)", ylabel="evidence, in windows per false alarm")

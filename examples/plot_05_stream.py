"""
A stream, window by window
==========================

Thirty windows of a stream; from the twentieth on, the humidity sensor fails. The monitor raises a false alarm once in
1,000 windows.
"""

import matplotlib.pyplot as plt

import gapdrift as gd

detector = gd.DriftDetector(random_state=0).fit(gd.datasets.stations(2_000, rng=0))
monitor = gd.Monitor(detector, window=200, false_alarm_every=1_000)
windows = monitor.advance(gd.datasets.stations(4_000, rng=1)) + monitor.advance(
    gd.datasets.stations(2_000, rng=2, drift=True)
)
print([window.index for window in windows if window.drift])

# %%
figure, axes = plt.subplots(figsize=(7.5, 3), layout="constrained")
colours = {"calm": "#9fb8cf", "warning": "#e3a72f", "drift": "#d9641e", "undetermined": "#cccccc"}
for window in windows:
    axes.semilogy(window.index, max(window.result.p_value, 1e-12), "o", color=colours[window.zone])
axes.axhline(1 / 1_000, color="black", lw=0.8, ls=":")
_ = axes.set(xlabel="window of 200 rows", ylabel="p-value (1e-12 where smaller)")

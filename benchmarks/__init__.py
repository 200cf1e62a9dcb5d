"""Speed, memory, calibration and power: each prints a table and exits non-zero when a bar is missed."""

"""Drift of what was observed: no missing cell is ever filled in. Replaces the core of `DriftDetector` when complete."""

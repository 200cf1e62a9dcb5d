"""The detectors, as scikit-learn estimators."""

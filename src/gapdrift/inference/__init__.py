"""Evidence to findings: contrasts, the covariance of the null, combination of tests."""

"""What is learned of a reference: normal scores, the Gaussian copula, hot-deck residuals, imputation, partitions."""

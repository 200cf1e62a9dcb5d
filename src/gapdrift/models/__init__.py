"""What is learned of a reference: imputation, partitions, forests; and a Gaussian model for the experiments."""

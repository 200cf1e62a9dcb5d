"""Any table to a matrix with NaN where values are missing: frames, schema, encoding, histograms, missingness."""

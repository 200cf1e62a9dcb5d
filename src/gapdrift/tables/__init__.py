"""Tables to matrices with NaN where values are missing: frames, schema, encoding, histograms, missingness."""

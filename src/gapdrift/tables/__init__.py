"""From any table to a matrix with NaN for missing values: frames, schema, encoding, facts, missingness."""

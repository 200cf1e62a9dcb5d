"""Rows to evidence: the statistics of a row and the counters that add them up."""

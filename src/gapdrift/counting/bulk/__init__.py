"""Counting by the million: the statistics of DriftDetector at the speed of table look-ups and matrix products.

A large reference affords what a small one does not. The covariance of the statistics is that of the reference, so a
window adds up sums of rows only, not their products; scores are looked up on a grid; an incomplete row is placed in a
single bin, by one of thousands of residuals that the row itself chooses, instead of being spread over all of them.
"""

from gapdrift.counting.bulk._counter import CHUNK, Bulk, BulkCounter, fit_bulk
from gapdrift.counting.bulk._lookup import look_up_scores
from gapdrift.counting.bulk._reading import OutOfRangeError
from gapdrift.counting.bulk._spread import expected_products

__all__ = ["CHUNK", "Bulk", "BulkCounter", "OutOfRangeError", "expected_products", "fit_bulk", "look_up_scores"]

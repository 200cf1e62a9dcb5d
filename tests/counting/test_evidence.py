import pickle

import numpy as np
import pytest

from gapdrift import Evidence
from gapdrift.errors import EvidenceError


def evidence(n_rows, value, origin="a", notes=()):
    return Evidence(n_rows, {"weights": np.full(2, value)}, origin, frozenset(notes))


def test_adds_up():
    total = evidence(3, 1.0, notes=["one"]) + evidence(4, 2.0, notes=["two"])
    assert total.n_rows == 7
    assert total.notes == {"one", "two"}
    np.testing.assert_array_equal(total.sums["weights"], [3.0, 3.0])


def test_zero_changes_nothing():
    one = evidence(3, 1.5)
    for total in (one + one.zero(), one.zero() + one, sum([one])):
        assert total.n_rows == 3
        np.testing.assert_array_equal(total.sums["weights"], one.sums["weights"])


def test_other_references_do_not_add_up():
    with pytest.raises(EvidenceError, match="same fitted detector"):
        evidence(1, 1.0, "a") + evidence(1, 1.0, "b")
    with pytest.raises(EvidenceError):
        evidence(1, 1.0) + Evidence(1, {"weights": np.zeros(3)}, "a")


def test_nothing_else_adds_up():
    with pytest.raises(TypeError):
        evidence(1, 1.0) + 1
    with pytest.raises(TypeError):
        1 + evidence(1, 1.0)


def test_cannot_be_changed():
    source = np.zeros(2)
    one = Evidence(1, {"weights": source})
    source += 1
    np.testing.assert_array_equal(one.sums["weights"], [0.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        one.sums["weights"][0] = 1.0
    with pytest.raises(TypeError):
        one.sums["weights"] = source


def test_travels_between_processes():
    one = evidence(3, 1.5, notes=["note"])
    copy = pickle.loads(pickle.dumps(one))
    assert (copy.n_rows, copy.origin, copy.notes) == (3, "a", {"note"})
    np.testing.assert_array_equal(copy.sums["weights"], one.sums["weights"])

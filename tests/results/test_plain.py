import pytest

import gapdrift as gd
from gapdrift.errors import StorageError
from gapdrift.results.plain import result_from_dict
from tests.stream_rows import detector, rows


@pytest.mark.parametrize("n_rows", [0, 5, 200])
def test_a_result_comes_back(n_rows):
    result = detector().test(rows(n_rows, 3))
    again = result_from_dict(result.to_dict())
    assert again == result
    assert again.to_html() == result.to_html()


def test_a_result_of_the_paper_s_method_comes_back(fitted, gaussian_drift):
    result = fitted.test(gaussian_drift.sample(200, severity=3, missing=0.2, rng=2))
    assert result_from_dict(result.to_dict()) == result


@pytest.mark.parametrize("record", [{}, {"drift": True}, {"drift": True, "values": 3}])
def test_damage_is_named(record):
    with pytest.raises(StorageError, match="damaged"):
        result_from_dict(record)


def test_the_record_names_the_class():
    assert isinstance(result_from_dict(detector().test(rows(50, 1)).to_dict()), gd.DriftResult)

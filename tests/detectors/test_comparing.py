import pandas as pd
import pytest

import gapdrift as gd


def test_one_call_is_a_fit_and_a_test(tmp_path):
    june, july = (pd.DataFrame(gd.datasets.stations(300, rng=seed)) for seed in (0, 1))
    expected = gd.DriftDetector(alpha=0.01, random_state=0, ignore=["sky"]).fit(june).test(july)
    assert gd.compare(june, july, alpha=0.01, ignore=["sky"]) == expected
    july.to_csv(tmp_path / "july.csv", index=False)
    june.to_csv(tmp_path / "june.csv", index=False)
    from_files = gd.compare(tmp_path / "june.csv", str(tmp_path / "july.csv"), alpha=0.01, ignore=["sky"])
    for finding in ("values", "missingness"):
        assert getattr(from_files, finding).p_value == pytest.approx(getattr(expected, finding).p_value, rel=1e-9)
    assert not from_files.drift


def test_the_same_tables_give_the_same_result():
    rows = gd.datasets.stations(100, rng=0)
    assert gd.compare(rows, rows) == gd.compare(rows, rows)
    with pytest.raises(TypeError, match="alhpa"):
        gd.compare(rows, rows, alhpa=0.1)

import pytest

import gapdrift as gd
from gapdrift.tables.dates import are_dates, is_date


@pytest.mark.parametrize(
    "text",
    [
        *("2024-01-31", "2024/1/31", "2024.01.31", "2024-01-31T10:00:00+01:00", "2024-01-31 10:00:00.123", "2024-01"),
        *("31.12.2024", "12/31/2024", "31/12/2024 10:00", "1/2/2024 1:05 PM", "31-12-24", "5 Jan 2024", "05-Jan-2024"),
        *("Jan 5, 2024", "January 5th, 2024", "Mon, 05 Jan 2024 10:00:00 +0000", "Mon Jan  5 10:00:00 2024"),
        *("10:30", "10:30:15.25", "10:30 pm", "2024-W05", "March 2024"),
    ],
)
def test_dates_in_common_forms(text):
    assert is_date(text)


@pytest.mark.parametrize(
    "text",
    [
        *("10-12", "08/10", "1.5", "v1.0", "1.2.3", "10.0.0.1", "2024", "20240131", "31/31/2024", "13.13.2024"),
        *("9999-99-99", "25:61", "may", "marching 2024 on", "A-1-2024", "", "jan", "0-0-0000"),
    ],
)
def test_what_only_looks_like_a_date(text):
    assert not is_date(text)


def test_a_few_bad_cells_do_not_make_dates_categories():
    assert are_dates({"2024-01-31": 95, "unknown": 5})
    assert not are_dates({"2024-01-31": 94, "unknown": 6})
    assert not are_dates({})


def test_a_column_of_ranges_is_compared_and_one_of_dates_is_not():
    n_rows = 200
    table = {
        "hours": ["10-12", "08-10"] * (n_rows // 2),
        "day": [f"{1 + row % 28}.{1 + row % 12}.2024" if row % 50 else "unknown" for row in range(n_rows)],
    }
    detector = gd.DriftDetector(random_state=0).fit(table)
    assert list(detector.feature_names_in_) == ["hours"]
    assert detector.ignored_columns_ == ("day",)

import numpy as np
import pandas as pd
import pytest

from gapdrift.counting.counter import count
from gapdrift.counting.evidence import Evidence
from gapdrift.counting.fact_finder import find_facts
from gapdrift.counting.functions import fit_functions
from gapdrift.detectors.drift.batches import BatchStatistics
from gapdrift.detectors.drift.reference import CATEGORY_RULE
from gapdrift.detectors.usual import Usual, UsualJudge, usual_of
from gapdrift.persistence.codec import pack_plain, unpack_plain
from gapdrift.tables.encoding import encode
from gapdrift.tables.frame import Table
from gapdrift.tables.schema import learn_schema

N_BATCHES, N_ROWS = 24, 80
NAMES = ["x", "y", "z", "flat", "kind"]


def batch(rng, level=None):
    """Rows with a level of their own, some of them with missing cells."""
    level = rng.normal(scale=0.5) if level is None else level
    x = level + rng.normal(size=N_ROWS)
    kind = rng.choice(["a", "b", "c"], size=N_ROWS, p=[0.5, 0.3, 0.2]).astype(object)
    rows = pd.DataFrame({"x": x, "y": x + 0.5 * rng.normal(size=N_ROWS), "z": rng.normal(size=N_ROWS), "flat": 3.0})
    rows["kind"] = kind
    rows.loc[rng.random(N_ROWS) < 0.1, "y"] = np.nan
    return rows


def history(seed=0):
    """Batches of which one lacks a column, one three quarters of it, and one repeats one value."""
    rng = np.random.default_rng(seed)
    batches = [batch(rng) for _ in range(N_BATCHES)]
    batches[3]["y"] = np.nan
    batches[5].loc[rng.random(N_ROWS) < 0.75, "y"] = np.nan
    batches[7]["z"] = 0.25
    return batches


class Batched:
    """Counts batches, and judges windows by them."""

    def __init__(self, batches, *, as_panes=False):
        table = Table.read(pd.concat(batches))
        self.schema = learn_schema(table, category_rule=CATEGORY_RULE)
        rows = encode(table, self.schema, pool_singletons=True)
        self.functions = fit_functions(rows, self.schema)
        reference = Evidence(len(rows), count(self.functions, rows))
        statistics = BatchStatistics(self.functions, BatchStatistics.basis_of(self.functions, reference))
        labelled = ((str(place), self.count(each)) for place, each in enumerate(batches))
        self.usual = usual_of(labelled, statistics, None, "day", as_panes=as_panes)

    def count(self, rows):
        encoded = encode(Table.read(rows), self.schema)
        return Evidence(len(encoded), count(self.functions, encoded), facts=find_facts(self.functions, encoded))

    def judge(self, usual=None):
        usual = usual or self.usual
        return UsualJudge(usual, BatchStatistics(self.functions, usual.basis))

    def among(self, rows):
        return self.judge().among(self.count(rows))


@pytest.fixture(scope="module")
def batched():
    return Batched(history())


def window(seed=100):
    return batch(np.random.default_rng(seed))


FAULTS = {
    "other units": (lambda rows: rows.assign(x=rows.x * 1e-3 + 100.0), "x"),
    "stuck": (lambda rows: rows.assign(x=rows.x.iloc[0]), "x"),
    "other spelling": (lambda rows: rows.assign(kind=rows.kind.str.upper()), "kind"),
    "no spread before": (lambda rows: rows.assign(flat=rows.x), "flat"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_gross_faults_are_surely_found_and_named(batched, fault):
    change, name = FAULTS[fault]
    judge = batched.judge()
    judgement = judge.among(batched.count(change(window())))
    assert judgement.p_value < 0.001
    values, missing = judge.statistics.column_tests(judgement)
    assert NAMES[int(values.argmin())] == name
    assert missing.min() > 0.001


@pytest.mark.parametrize("name", ["x", "kind"])
def test_a_column_that_goes_missing_is_found(batched, name):
    rows = window()
    judgement = batched.among(rows.assign(**{name: rows[name].where(np.arange(N_ROWS) < 0)}))
    assert judgement.p_value < 0.001
    assert int(judgement.entries["missing"].argmin()) == NAMES.index(name)


def test_what_a_week_without_a_sensor_is_to_a_history_that_has_one(batched):
    assert batched.among(window().assign(y=np.nan)).missingness > 0.001


def test_untouched_windows_are_usual(batched):
    judge = batched.judge()
    p_values = np.array([judge.among(batched.count(window(seed))).p_value for seed in range(100, 140)])
    assert p_values.min() > 0.001
    assert (p_values < 0.05).sum() <= 6


def test_what_batches_lack_is_stored_and_read_alike(batched):
    assert np.isinf(batched.usual.table.blocks["location"][3]).any()
    again = unpack_plain(pack_plain(batched.usual), Usual)
    for seed in range(100, 104):
        evidence = batched.count(window(seed).assign(y=np.nan) if seed == 100 else window(seed))
        assert batched.judge(again).among(evidence).p_value == batched.judge().among(evidence).p_value


def test_nothing_that_is_stored_is_not_a_number(batched):
    stored = [*batched.usual.table.blocks.values(), *batched.usual.basis.values()]
    assert not any(np.isnan(each).any() for each in stored)
    assert all(np.isfinite(each).all() for each in batched.usual.basis.values())


def test_what_no_other_batch_reached_is_outside(batched):
    outside = batched.usual.table.blocks["outside"]
    x = np.array([[rows.x.min(), rows.x.max()] for rows in history()])
    extreme = {int(x[:, 0].argmin()), int(x[:, 1].argmax())}
    assert set(np.flatnonzero(outside[:, 0] > 0)) <= extreme
    statistics = batched.judge().statistics
    assert statistics.of(batched.count(window().assign(x=50.0)))["outside"][0] == 1.0
    kinds = np.where(np.arange(N_ROWS) < 20, "new", "a")
    assert statistics.of(batched.count(window().assign(kind=kinds)))["outside"][4] == pytest.approx(0.25)


def test_statistics_are_those_of_the_rows(batched):
    rows = window()
    found = batched.judge().statistics.of(batched.count(rows))
    assert found["missing"][1] == pytest.approx(rows.y.isna().mean())
    both = rows[["x", "y"]].dropna()
    pair = np.flatnonzero((batched.judge().statistics.first == 0) & (batched.judge().statistics.second == 1))
    assert np.tanh(found["correlations"][pair[0]]) == pytest.approx(both.corr().iloc[0, 1], abs=0.05)


def test_the_basis_of_batches_stays_where_more_are_added(batched):
    parts = [("more", batched.count(window(seed))) for seed in (7, 8)]
    wider = batched.usual.with_parts(parts, batched.judge().statistics)
    assert len(wider.table) == N_BATCHES + 2
    assert wider.basis is batched.usual.basis
    assert batched.judge(wider).among(batched.count(window().assign(x=50.0))).p_value < 0.001


def test_dependent_rows_in_panes():
    rng = np.random.default_rng(0)
    panes = [batch(rng, level) for level in np.convolve(rng.normal(scale=0.2, size=33), [0.7, 0.5], "valid")]
    batched = Batched(panes, as_panes=True)
    long = pd.concat([batch(rng, 0.0) for _ in range(4)])
    assert batched.among(long).p_value > 0.01
    assert batched.among(long.assign(x=long.x + 1.5, y=long.y + 1.5)).p_value < 0.01
    assert batched.among(long.assign(y=np.nan)).missingness < 0.001


def test_strips_show_entries(batched):
    judge = batched.judge()
    shown = judge.statistics.shown(judge.among(batched.count(window().assign(x=50.0))).residuals)
    assert [column for column, *_ in shown] == [0, 1, 2, 3, 4]
    assert {name for _, name, _ in shown} <= {"location", "scales", "outside"}

import ast
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.impute import KNNImputer
from sklearn.linear_model import ElasticNet, LinearRegression, Ridge

import gapdrift as gd
from gapdrift.detectors import Detector
from gapdrift.detectors.mdlfwf.distance import published_regressor
from gapdrift.errors import StorageError
from gapdrift.persistence import archive
from gapdrift.persistence.archive import MANIFEST, pack, seal
from gapdrift.storage import KINDS, Storable, describe, dumps, load, loads, save
from gapdrift.tables.encoding import encode

SOURCES = Path(gd.__file__).parent


def numbers(n_rows, n_columns, rng, missing=0.15):
    values = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    values[rng.random(values.shape) < missing] = np.nan
    return values


def mixed(n_rows, rng):
    """A table with everything: keys, dates, categories, booleans, constants, an empty column, odd names."""
    frame = pd.DataFrame(
        {
            "id": np.arange(n_rows),
            "when": pd.date_range("2024-01-01", periods=n_rows, freq="h"),
            "size of it": rng.lognormal(size=n_rows),
            "größe \U0001f600": rng.poisson(3, size=n_rows).astype(float),
            "colour": rng.choice(["red", "blue", "grün", "None"], size=n_rows),
            "shop": rng.choice([f"shop {index}" for index in range(40)], size=n_rows),
            "works": rng.random(n_rows) < 0.3,
            "same": 1.0,
            "nothing": np.nan,
        }
    )
    for name in ("size of it", "größe \U0001f600", "colour", "shop"):
        frame.loc[rng.random(n_rows) < 0.15, name] = None
    return frame


def outliers(n_rows, n_columns, rng):
    return rng.standard_t(1.5, size=(n_rows, n_columns)) * 10.0 ** rng.integers(-20, 20, size=n_columns)


CASES = {
    "numbers": (lambda: gd.DriftDetector(random_state=0), lambda n, rng: numbers(n, 5, rng)),
    "no gaps": (lambda: gd.DriftDetector(0.01, 1), lambda n, rng: numbers(n, 3, rng, missing=0)),
    "one column": (lambda: gd.DriftDetector(random_state=2), lambda n, rng: numbers(n, 1, rng)),
    "frame": (lambda: gd.DriftDetector(random_state=3, min_effect=0.1, target="works"), mixed),
    "categories": (
        lambda: gd.DriftDetector(random_state=4, categories=("works",), ignore=["same"], n_jobs=2),
        mixed,
    ),
    "many columns": (lambda: gd.DriftDetector(random_state=5), lambda n, rng: numbers(n, 30, rng)),
    "split": (lambda: gd.DriftDetector(random_state=6), lambda n, rng: numbers(n // 4, 30, rng)),
    "factors": (lambda: gd.DriftDetector(random_state=7), lambda n, rng: numbers(n // 2, 310, rng)),
    "outliers": (lambda: gd.DriftDetector(random_state=8), lambda n, rng: outliers(n, 4, rng)),
    "published": (lambda: gd.MDLFWF(random_state=0), lambda n, rng: numbers(n, 4, rng)),
    "gaussian": (lambda: gd.MDLFWF(membership="gaussian", top_q=None, random_state=1), mixed),
    "wald": (lambda: gd.MDLFWF(test="wald", random_state=1), lambda n, rng: numbers(n, 4, rng)),
    "crisp, linear": (
        lambda: gd.MDLFWF(membership="crisp", n_bins=7, regressor=LinearRegression(), imputers=["mean", "iterative"]),
        lambda n, rng: numbers(n, 4, rng),
    ),
    "ridge, centres": (
        lambda: gd.MDLFWF(regressor=Ridge(0.5), pairs="centres", imputers=("zero",), random_state=3),
        lambda n, rng: numbers(n, 35, rng, missing=0.02),
    ),
    "gradient boosting": (
        lambda: gd.MDLFWF.with_published_regressor(
            regressor=GradientBoostingRegressor(loss="huber", n_estimators=12, max_depth=4), max_pairs=2_000
        ),
        lambda n, rng: numbers(n, 3, rng),
    ),
    "forests": (
        lambda: gd.MDLFWF(
            regressor=RandomForestRegressor(8, min_samples_leaf=3, n_jobs=2), max_pairs=2_000, random_state=5
        ),
        lambda n, rng: numbers(n, 3, rng),
    ),
    "other forests": (
        lambda: gd.MDLFWF(regressor=ExtraTreesRegressor(8, max_leaf_nodes=40), max_pairs=2_000, random_state=6),
        lambda n, rng: outliers(n, 3, rng),
    ),
    "own boosting": (
        lambda: gd.MDLFWF(regressor=HistGradientBoostingRegressor(max_iter=7, max_depth=3), random_state=7),
        lambda n, rng: numbers(n, 3, rng),
    ),
    "imputed": (
        lambda: gd.MDLFWF(distance="imputed", imputers=["iterative"], membership="crisp", random_state=8),
        mixed,
    ),
    "no gaps, published": (lambda: gd.MDLFWF(random_state=9), lambda n, rng: numbers(n, 2, rng, missing=0)),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A fitted detector, a window, and the detector after a way through a file."""
    make, sample = CASES[request.param]
    rng = np.random.default_rng(len(request.param))
    detector = make().fit(sample(400, rng))
    return detector, sample(300, rng), loads(dumps(detector))


def same_evidence(one, two):
    assert (one.n_rows, one.origin, one.notes) == (two.n_rows, two.origin, two.notes)
    assert list(one.sums) == list(two.sums)
    for name, array in one.sums.items():
        assert array.tobytes() == two.sums[name].tobytes()
        assert array.shape == two.sums[name].shape


def same_settings(one, two):
    assert one.keys() == two.keys()
    for name, value in one.items():
        if hasattr(value, "get_params"):
            assert type(value) is type(two[name])
            assert value.get_params() == two[name].get_params()
        else:
            assert value == two[name]
            assert type(value) is type(two[name])


def test_a_loaded_detector_gives_the_same_to_the_bit(case):
    detector, window, loaded = case
    assert type(loaded) is type(detector)
    same_evidence(detector.evidence_, loaded.evidence_)
    same_evidence(detector.count(window), loaded.count(window))
    assert loaded.test(window) == detector.test(window)
    assert loaded.test(window).to_json() == detector.test(window).to_json()
    assert loaded.warnings_ == detector.warnings_


def test_a_loaded_detector_has_the_same_settings(case):
    detector, _, loaded = case
    same_settings(detector.get_params(deep=False), loaded.get_params(deep=False))
    same_settings(clone(detector).get_params(deep=False), clone(loaded).get_params(deep=False))
    for name in ("centres_", "distance_error_", "feature_importances_"):
        if hasattr(detector, name):
            assert np.array_equal(getattr(detector, name), getattr(loaded, name))


def test_evidence_of_both_adds_up(case):
    detector, window, loaded = case
    assert (detector.count(window) + loaded.count(window)).n_rows == 2 * len(window)


def test_saving_again_gives_the_same_bytes(case):
    detector, _, loaded = case
    assert dumps(loaded) == dumps(detector)


def test_evidence_and_results_come_back(case):
    detector, window, _ = case
    same_evidence(loads(dumps(detector.count(window))), detector.count(window))
    result = detector.test(window)
    assert loads(dumps(result)) == result
    assert loads(dumps(result)).to_json() == result.to_json()
    few = detector.test(window[:3])
    assert loads(dumps(few)) == few


def test_files_can_be_described(case, tmp_path):
    detector, window, _ = case
    detector.save(tmp_path / "a")
    found = describe(tmp_path / "a")
    assert json.loads(json.dumps(found)) == found
    assert found["kind"] == "detector"
    assert found["class"] == type(detector).__name__
    assert found["bytes"] == (tmp_path / "a").stat().st_size
    assert found["rows"] == detector.evidence_.n_rows
    for name, value in detector.get_params(deep=False).items():
        if hasattr(value, "get_params"):
            assert found["settings"][name]["name"] == type(value).__name__
        else:
            assert found["settings"][name] == (list(value) if isinstance(value, tuple) else value)
    assert found["warnings"] == list(detector.warnings_)
    features = detector.test(window).features
    assert [column["name"] for column in found["columns"]] == [feature.name for feature in features]
    rates = [column["missing"] for column in found["columns"]]
    np.testing.assert_allclose(rates, [feature.missing_reference for feature in features], atol=1e-12)
    assert found["bins"] == len(detector.test(window).bins)


@pytest.fixture(scope="module")
def small():
    """A detector whose file is small, and a window."""
    rng = np.random.default_rng(0)
    return gd.DriftDetector(random_state=0).fit(numbers(60, 2, rng)), numbers(50, 2, rng)


def test_save_and_load(small, tmp_path):
    detector, window = small
    path = tmp_path / "detector.gapdrift"
    detector.save(path)
    assert gd.load(str(path)).test(window) == detector.test(window)
    gd.save(detector.count(window), path)
    same_evidence(gd.load(path), detector.count(window))
    gd.save(detector.test(window), path)
    assert gd.load(path) == detector.test(window)
    assert describe(path)["drift"] == detector.test(window).drift
    gd.save(detector.count(window), path)
    assert describe(path)["rows"] == len(window)


def test_nothing_but_these_is_saved(tmp_path):
    for thing in (3, "text", None, object(), gd.DriftDetector):
        with pytest.raises(StorageError, match="cannot be stored"):
            save(thing, tmp_path / "a")
    with pytest.raises(gd.errors.NotFittedError):
        gd.DriftDetector().save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


class Mine(gd.DriftDetector):
    """Might do anything that no file tells."""


class Other(Detector):
    """A detector of a third party."""

    def fit(self, reference, y=None):
        self.evidence_ = self.count_rows(reference)
        return self

    def count_rows(self, table):
        return gd.Evidence(len(table), {})

    def judge(self, evidence, alpha):
        raise NotImplementedError

    def save(self, path, **options):
        save(self, path, **options)


class Foreign:
    """A detector that only looks like ours."""

    def save(self, path, **options):
        save(self, path, **options)


def test_detectors_of_others_are_refused(tmp_path):
    mine = Mine(random_state=0).fit(numbers(60, 2, np.random.default_rng(0)))
    for detector in (mine, Other().fit([1, 2]), Foreign()):
        for write in (detector.save, lambda path, thing=detector: save(thing, path)):
            with pytest.raises(StorageError, match=rf"A {type(detector).__name__} cannot.*save the Evidence.*fit it"):
                write(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_every_kind_that_a_file_may_hold_is_known():
    assert set(KINDS) == set(get_args(Storable))


def test_a_manifest_that_calls_it_something_else(small):
    members = members_of(dumps(small[0]))
    record = json.loads(members[MANIFEST])
    for kind in ("evidence", "other"):
        with pytest.raises(StorageError, match="expected"):
            loads(seal(members | {MANIFEST: json.dumps(record | {"kind": kind}).encode()}))


@pytest.mark.parametrize("change", [{"n_bins": 3}, {"missing_shares": [0.5, 0.5]}, {"missing_shares": []}])
def test_what_a_file_tells_of_itself_must_hold(small, change):
    members = members_of(dumps(small[0]))
    record = json.loads(members[MANIFEST])
    record["content"] |= change
    with pytest.raises(StorageError, match="as the reference has them"):
        loads(seal(members | {MANIFEST: json.dumps(record).encode()}))


@pytest.mark.parametrize("kind", ["Recipe", "NameList", "Partition", "DriftDetector", "Evidence"])
def test_a_file_cannot_choose_what_is_made_of_it(small, kind):
    """Any stored type is refused where its field does not name it."""
    members = members_of(dumps(small[0]))
    record = json.loads(members[MANIFEST])
    record["content"]["reference"]["type"] = kind
    with pytest.raises(StorageError, match="one of DriftReference, LabelledReference"):
        loads(seal(members | {MANIFEST: json.dumps(record).encode()}))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"imputers": ["mean", KNNImputer()]}, "KNNImputer"),
        ({"regressor": ElasticNet()}, "ElasticNet"),
        ({"regressor": GradientBoostingRegressor(n_estimators=2, init=LinearRegression())}, "LinearRegression"),
        (
            {"regressor": HistGradientBoostingRegressor(max_iter=2, monotonic_cst=None, categorical_features=[0])},
            "list",
        ),
    ],
)
def test_what_cannot_be_stored_is_named(settings, named, gaussian_drift, tmp_path):
    detector = gd.MDLFWF(random_state=0, max_pairs=500, **settings)
    detector.fit(gaussian_drift.sample(200, severity=0, missing=0.2, rng=1))
    with pytest.raises(StorageError, match=named):
        detector.save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("state", [np.random.default_rng(0), np.random.RandomState(0)])
def test_a_generator_is_stored_as_none(state):
    detector = gd.DriftDetector(random_state=state).fit(numbers(60, 2, np.random.default_rng(0)))
    loaded = loads(dumps(detector))
    assert loaded.random_state is None
    same_evidence(loaded.evidence_, detector.evidence_)


def test_settings_changed_after_the_fit_are_kept(small):
    detector = loads(dumps(small[0])).set_params(alpha=0.2)
    assert loads(dumps(detector)).alpha == 0.2
    with pytest.raises(gd.errors.ParameterError, match="alpha"):
        dumps(detector.set_params(alpha=2))


@pytest.mark.parametrize("regressor", [None, published_regressor().set_params(n_estimators=3), LinearRegression()])
def test_nothing_is_fitted_by_loading(regressor, gaussian_drift, monkeypatch):
    """All pairs are learned from; the file holds what was learned, and scikit-learn has no part in reading it."""
    rows = gaussian_drift.sample(300, severity=0, missing=0.2, rng=1)
    detector = gd.MDLFWF(regressor=regressor, max_pairs=None, random_state=0).fit(rows)
    expected, data = detector.test(rows), dumps(detector)
    for cls in (HistGradientBoostingRegressor, GradientBoostingRegressor, LinearRegression):
        monkeypatch.setattr(cls, "fit", None)
        monkeypatch.setattr(cls, "predict", None)
    assert loads(data).test(rows) == expected
    assert len(data) < 50_000


def test_trees_that_cannot_be_read_are_refused(gaussian_drift, monkeypatch):
    """A scikit-learn that keeps them elsewhere still learns distances."""
    rows = gaussian_drift.sample(200, severity=0, missing=0.2, rng=1)
    expected = gd.MDLFWF(random_state=0).fit(rows)
    monkeypatch.setattr("gapdrift.detectors.mdlfwf.regressors._CONVERTERS", {})
    detector = gd.MDLFWF(random_state=0).fit(rows)
    assert detector.test(rows) == expected.test(rows)
    with pytest.raises(StorageError, match="HistGradientBoostingRegressor, which cannot be stored"):
        dumps(detector)


# No rows ---------------------------------------------------------------------------------------------------------


def arrays_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        names = [name for name in file.namelist() if name != MANIFEST]
        return {name: np.load(io.BytesIO(file.read(name)), allow_pickle=False) for name in names}


def rows_found(data, rows):
    """Arrays in which a row stands as such, cell by cell."""
    found = []
    for name, array in arrays_of(data).items():
        if array.ndim == 2 and array.shape[1] == rows.shape[1] and len(array):
            close = np.abs(array[:, None, :] - rows[None]) <= 1e-9 * (1 + np.abs(rows))
            if close.all(axis=2).any():
                found.append(name)
    return found


def test_the_search_for_rows_finds_them(small):
    rows = np.random.default_rng(0).normal(size=(50, 3))
    evidence = gd.Evidence(50, {"rows": rows})
    assert rows_found(dumps(evidence), rows) == ["evidence.sums.rows.npy"]


@pytest.mark.parametrize("n_columns", [4, 25])
def test_no_row_of_the_reference_is_written(n_columns):
    rng = np.random.default_rng(1)
    rows = numbers(400, n_columns, rng)
    detector = gd.DriftDetector(random_state=0).fit(rows)
    data = dumps(detector, keep_rows=False)
    complete = rows[~np.isnan(rows).any(axis=1)]
    functions = detector.reference_.functions
    codes = functions.codes(encode(complete, detector.schema_))
    # Of complete rows, what is observed is the same for all.
    for form in (complete, codes.T, functions.values(codes)[0]):
        assert not rows_found(data, np.asarray(form, dtype=float))
    assert dumps(loads(data), keep_rows=False) == data


def test_no_row_of_the_reference_is_written_by_the_published_method(gaussian_drift):
    rows = gaussian_drift.sample(500, severity=0, missing=0.2, rng=1)
    detector = gd.MDLFWF(random_state=0).fit(rows)
    data = dumps(detector, keep_rows=False)
    assert not rows_found(data, rows[~np.isnan(rows).any(axis=1)])


def test_the_centre_of_a_lone_row_is_that_row(tmp_path):
    rows = np.random.default_rng(0).normal(size=(200, 2))
    rows[7] = [1e6, 1e6]
    detector = gd.MDLFWF(n_bins=4, random_state=0, distance="imputed").fit(rows)
    assert rows_found(dumps(detector), rows[[7]])
    with pytest.raises(StorageError, match="single reference row"):
        detector.save(tmp_path / "a", keep_rows=False)
    assert not list(tmp_path.iterdir())


# Damage ----------------------------------------------------------------------------------------------------------


def mutated(data, rng):
    """The bytes with one thing done to them that files suffer."""
    place, other = (int(number) for number in rng.integers(len(data), size=2))
    end = place + int(rng.integers(1, 200))
    flipped = bytes([data[place] ^ (1 << int(rng.integers(8)))])
    choices = [
        data[:place] + flipped + data[place + 1 :],
        data[:place],
        data[:place] + data[end:],
        data[:place] + rng.bytes(end - place) + data[place:],
        data[:place] + data[other : other + end - place] + data[end:],
        data[:place] + bytes(end - place) + data[end:],
        data[place:] + data[:place],
    ]
    return choices[rng.integers(len(choices))]


def test_5000_damaged_files_are_5000_errors_of_ours(small, tmp_path):
    data, rng = dumps(small[0]), np.random.default_rng(0)
    path = tmp_path / "a.gapdrift"
    number = 0
    while number < 5_000:
        damaged = mutated(data, rng)
        if damaged == data:
            continue
        number += 1
        with pytest.raises(StorageError):
            if number % 25:
                loads(damaged)
            else:
                path.write_bytes(damaged)
                load(path)


@pytest.mark.parametrize("name", ["table.csv", "picture.png", "empty", "other.zip", "code.gapdrift"])
def test_foreign_files(name, tmp_path):
    path = tmp_path / name
    if name == "other.zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("manifest.json", "{}")
    else:
        contents = {
            "table.csv": b"a,b\n1,2\n",
            "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(1_000),
            "empty": b"",
            "code.gapdrift": pickle.dumps(Bomb(tmp_path / "ran")),
        }
        path.write_bytes(contents[name])
    with pytest.raises(StorageError):
        load(path)
    with pytest.raises(StorageError):
        describe(path)
    assert not (tmp_path / "ran").exists()


class Bomb:
    """Touches a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickled_members_are_not_unpickled(small, tmp_path):
    members = members_of(dumps(small[0]))
    name = next(name for name in members if name.endswith(".npy"))
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb(tmp_path / "ran")], dtype=object), allow_pickle=True)
    with pytest.raises(StorageError):
        loads(seal(members | {name: buffer.getvalue()}))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("path", ["absent.gapdrift", ".", "/dev/null"])
def test_what_is_no_file(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="Cannot read"):
        load(path)


def test_only_bytes_are_loaded_from_memory():
    for data in ("text", None, 3):
        with pytest.raises(StorageError, match="bytes"):
            loads(data)


# Files that were made up, with the right checksums ----------------------------------------------------------------


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def nodes_of(node, path=()):
    """Paths of all values within a JSON document."""
    yield path
    if isinstance(node, dict | list):
        for key, item in node.items() if isinstance(node, dict) else enumerate(node):
            yield from nodes_of(item, (*path, key))


STRANGE = [
    None, True, False, 0, 1, -1, 2**40, -(2**70), 10**400, 0.0, -0.5, 1e308, 5e-324, "", "x", "DriftDetector",
    "Finding", "Evidence", "__class__", [], {}, [[]], [None], {"type": "Evidence"}, {"array": "manifest.json"},
    {"array": "x.npy"}, {"type": "builtins.eval"}, [0] * 50, "x" * 10_000,
]  # fmt: skip


def replace_at(record, path, change):
    """The document with the value at a path changed in place."""
    holder = record
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = change(holder[path[-1]])


def strange(record, rng):
    """A document with one value replaced, dropped, doubled or swapped with another one."""
    paths = [path for path in nodes_of(record) if path]
    path = paths[rng.integers(len(paths))]
    kind = rng.integers(5)
    if kind == 0:
        other = paths[rng.integers(len(paths))]
        value = json.loads(json.dumps(at(record, other)))
        replace_at(record, path, lambda _: value)
    elif kind == 1 and isinstance(at(record, path), list):
        replace_at(record, path, lambda items: items + items[:1])
    elif kind == 2 and isinstance(at(record, path), dict):
        replace_at(record, path, lambda items: dict(list(items.items())[1:]))
    elif kind == 3 and isinstance(at(record, path), int | float):
        replace_at(record, path, lambda number: -number if rng.random() < 0.5 else number * 3 + 1)
    else:
        replace_at(record, path, lambda _: STRANGE[rng.integers(len(STRANGE))])


def at(record, path):
    for key in path:
        record = record[key]
    return record


def use(thing, window):
    """Do with a loaded thing what it is for; errors of ours are answers too."""
    with np.errstate(all="ignore"):
        if isinstance(thing, gd.Evidence):
            assert (thing + thing.zero()).n_rows == thing.n_rows
        elif isinstance(thing, gd.DriftResult):
            thing.summary()
        else:
            thing.test(window)


@pytest.fixture(scope="module")
def victims(small, gaussian_drift):
    """Things to make up files of, each with a window."""
    detector, window = small
    rng = np.random.default_rng(0)
    rows = gaussian_drift.sample(120, severity=0, missing=0.2, rng=1)
    frame = mixed(150, rng)
    wide = gd.DriftDetector(random_state=0).fit(numbers(60, 310, rng))
    return [
        (detector, window),
        (detector.count(window), window),
        (detector.test(window), window),
        (gd.MDLFWF(random_state=0, max_pairs=300).fit(rows), rows),
        (gd.MDLFWF(random_state=0, max_pairs=300, regressor=RandomForestRegressor(2)).fit(rows), rows),
        (gd.DriftDetector(random_state=0, target="works").fit(frame), frame),
        (wide, numbers(60, 310, rng)),
    ]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("index", range(7))
def test_manifests_that_were_made_up(victims, index):
    thing, window = victims[index]
    members = members_of(dumps(thing))
    manifest = members[MANIFEST]
    rng = np.random.default_rng(index)
    refused = 0
    for _ in range(4 if index == 6 else 100):
        record = json.loads(manifest)
        strange(record, rng)
        text = json.dumps(record).encode()
        try:
            loaded = loads(seal(members | {MANIFEST: text}))
        except StorageError:
            refused += 1
            continue
        with suppress(gd.GapdriftError):
            use(loaded, window)
    assert refused > 0


@pytest.mark.parametrize("index", range(3))
def test_descriptions_of_what_was_made_up(victims, index, tmp_path):
    members = members_of(dumps(victims[index][0]))
    rng = np.random.default_rng(index)
    path = tmp_path / "a.gapdrift"
    for _ in range(60):
        record = json.loads(members[MANIFEST])
        strange(record, rng)
        path.write_bytes(seal(members | {MANIFEST: json.dumps(record).encode()}))
        with suppress(StorageError):
            assert describe(path)["kind"] in {"detector", "evidence", "result"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("index", range(7))
def test_arrays_that_were_made_up(victims, index):
    thing, window = victims[index]
    data = dumps(thing)
    rng = np.random.default_rng(index)
    arrays = arrays_of(data)
    names = list(arrays)
    for _ in range(4 if index == 6 else 50 if names else 0):
        changed = dict(arrays)
        name = names[rng.integers(len(names))]
        changed[name] = strange_array(changed[name], rng)
        try:
            loaded = loads(repacked(data, changed))
        except StorageError:
            continue
        with suppress(gd.GapdriftError):
            use(loaded, window)


def strange_array(array, rng):
    choices = [
        np.full_like(array, -1 if array.dtype in {float, int} else 1),
        np.where(rng.random(array.shape) < 0.5, np.nan, array),
        array * 1e300,
        array[:-1],
        np.concatenate([array, array]),
        array.reshape(-1),
        array.astype(float if array.dtype != float else int),
        np.zeros_like(array),
    ]
    return choices[rng.integers(len(choices))]


def repacked(data, arrays):
    """The file with other arrays, rightly described."""
    record = json.loads(members_of(data)[MANIFEST])
    return pack(record["kind"], record["content"], arrays)


def nested(depth):
    finding = gd.results.Finding("test", 1.0, 1, 0.5, 0.1)
    for _ in range(depth):
        finding = gd.results.Finding("test", 1.0, 1, 0.5, 0.1, parts=(finding,))
    return gd.DriftResult(False, 0.5, 0.05, 10, 10, finding)


def test_findings_within_findings_have_a_limit():
    assert loads(dumps(nested(5))) == nested(5)
    with pytest.raises(StorageError, match="deep"):
        dumps(nested(200))


def test_made_up_nesting_is_refused():
    members = members_of(dumps(nested(1)))
    record = json.loads(members[MANIFEST])
    finding = record["content"]["values"]
    for _ in range(150):
        finding = finding | {"parts": [finding]}
    record["content"]["values"] = finding
    with pytest.raises(StorageError, match="deep"):
        loads(seal({MANIFEST: json.dumps(record).encode()}))


MEASURE = """
import sys
from pathlib import Path
import gapdrift as gd
try:
    gd.load(sys.argv[1])
except gd.errors.StorageError as error:
    print("refused", error)
(peak,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(peak) // 1024)
"""


def sealed_zeros(members, name, n_mebibytes):
    """A sealed file of some members and a long one of spaces, without holding that in memory."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for other, data in members.items():
            file.writestr(other, data)
        with file.open(name, "w") as member:
            for _ in range(n_mebibytes):
                member.write(b" " * 2**20)
        file.comment = archive.SEAL + b"0" * archive.DIGITS
    body = buffer.getvalue()[: -archive.DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode()


def made_up(content, arrays):
    head = {
        "format": "gapdrift",
        "format_version": archive.FORMAT_VERSION,
        "gapdrift_version": "0.1.0",
        "kind": "evidence",
    }
    return {MANIFEST: json.dumps(head | {"content": content, "arrays": arrays}).encode()}


def made_up_evidence(length):
    """Manifest of evidence with one array of some length."""
    content = {"type": "Evidence", "n_rows": 1, "sums": {"a": {"array": "a.npy"}}, "origin": "", "notes": []}
    return made_up(content, {"a.npy": {"dtype": "<f8", "shape": [length], "sha256": "0" * 64}})


def evidence_at_the_limit():
    """Two arrays of the largest size and as many notes as a manifest takes: this one is read."""
    most = np.ones(archive.MAX_ARRAY // 8)
    notes = frozenset(map(str, range(archive.MAX_NODES - 1_000)))
    return dumps(gd.Evidence(1, {"a": most, "b": most}, notes=notes))


BOMBS = {
    "an array that is not there": lambda: seal(made_up_evidence(2**28) | {"a.npy": bytes(2**24)}),
    "an array that is longer": lambda: sealed_zeros(made_up_evidence(2**17), "a.npy", 600),
    "a long manifest": lambda: sealed_zeros({}, MANIFEST, 600),
    "many lists": lambda: seal({MANIFEST: b"[" + b"[]," * 2_500_000 + b"[]]"}),
    "lists at the limit": lambda: seal({MANIFEST: b"[" + b'{"a":[]},' * 166_000 + b"[]]"}),
    "evidence at the limit": evidence_at_the_limit,
}
"""Files with the right checksums that want a lot of memory."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux")
@pytest.mark.parametrize("name", BOMBS)
def test_no_file_takes_more_than_512_mib(name, tmp_path):
    path = tmp_path / "bomb.gapdrift"
    path.write_bytes(BOMBS[name]())
    environment = os.environ | {"PYTHONPATH": str(SOURCES.parent)}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], check=True, capture_output=True, text=True, env=environment
    )
    *answer, peak = done.stdout.splitlines()
    assert bool(answer) == (name != "evidence at the limit")
    assert int(peak) < 512


def test_nothing_here_unpickles():
    """No module loads pickles, evaluates text or imports by a name that comes from elsewhere."""
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    sources = [path for path, text in texts.items() if "gapdrift.persistence" in text]
    assert len(sources) >= 20
    for source in [*sources, SOURCES / "persistence" / "archive.py"]:
        for node in ast.walk(ast.parse(texts[source])):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.split(".")[0] for alias in node.names} | {getattr(node, "module", None) or ""}
                assert not names & {"pickle", "joblib", "importlib", "marshal", "shelve", "dill", "cloudpickle"}
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                assert called not in {"eval", "exec", "__import__", "import_module", "fromfile"}
                owner = getattr(getattr(node.func, "value", None), "id", "")
                refused = {name.arg for name in node.keywords if getattr(name.value, "value", None) is False}
                assert (owner, called) != ("np", "load") or "allow_pickle" in refused

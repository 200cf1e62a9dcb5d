"""Which rows of files are new: every row is counted once, whatever happens to the files between the runs."""

import gzip
import os
import shutil
import threading
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import gapdrift as gd
from gapdrift.errors import InputError
from gapdrift.files import open_files
from gapdrift.history import History
from gapdrift.streaming import run_monitor


@pytest.fixture(scope="module")
def detector():
    return gd.DriftDetector(random_state=0).fit(gd.datasets.stations(500, rng=0))


class Nights:
    """A folder of files, and a job that counts its new rows again and again."""

    def __init__(self, folder, detector):
        self.folder, self.detector, self.counted = folder / "days", detector, Counter()
        self.folder.mkdir()
        self.database = folder / "history.db"
        self.n_made = 0
        self.made = []

    def rows(self, n_rows):
        """Fresh rows, each with a number of its own in the column ``number``."""
        table = pd.DataFrame(gd.datasets.stations(n_rows, rng=1_000 + self.n_made))
        table.insert(0, "number", np.arange(self.n_made, self.n_made + n_rows))
        self.made += range(self.n_made, self.n_made + n_rows)
        self.n_made += n_rows
        return table

    def write(self, name, table):
        table.to_csv(self.folder / name, index=False)

    def age(self, name, seconds=7_200):
        then = time.time() - seconds
        os.utime(self.folder / name, (then, then))

    def run(self, place=None, **options):
        """Notes of one run; the numbers of its rows are counted."""
        monitor = gd.Monitor(self.detector, window=100)
        advance = monitor.advance

        def count(table):
            self.counted.update(int(number) for number in table.column("number").to_pylist())
            return advance(table)

        monitor.advance = count
        with History(self.database) as history:
            summary = run_monitor(monitor, open_files(place or self.folder, **options), history=history)
        self.summary = summary
        return " ".join(summary.notes)

    def assert_all_counted_once(self):
        assert self.counted == Counter(self.made)


@pytest.fixture
def nights(tmp_path, detector):
    return Nights(tmp_path, detector)


def test_the_tenth_day_comes_after_the_ninth_and_is_counted(nights):
    for day in range(1, 10):
        nights.write(f"day-{day}.csv", nights.rows(20))
    nights.run()
    nights.write("day-10.csv", nights.rows(20))
    nights.run()
    assert (nights.summary.first_row, nights.summary.position) == (180, 200)
    nights.assert_all_counted_once()
    nights.run()
    assert nights.summary.first_row == nights.summary.position == 200


def test_a_late_file_in_the_middle_is_counted(nights):
    nights.write("day-1.csv", nights.rows(20))
    nights.write("day-3.csv", nights.rows(20))
    nights.run()
    nights.write("day-2.csv", nights.rows(20))
    assert nights.run() == ""
    nights.assert_all_counted_once()


def test_a_file_that_grows_is_continued(nights):
    table = nights.rows(30)
    nights.write("log.csv", table[:10])
    nights.run()
    nights.write("log.csv", table[:25])
    nights.run()
    nights.write("log.csv", table)
    nights.run()
    nights.assert_all_counted_once()


@pytest.mark.parametrize("compress", [False, True])
def test_rotated_logs_are_recognised(nights, compress):
    for _ in range(4):
        for number in (3, 2, 1, 0):
            old = nights.folder / (f"log.csv.{number}" if number else "log.csv")
            packed = old.with_name(old.name + ".gz")
            new = nights.folder / f"log.csv.{number + 1}"
            if packed.exists():
                packed.rename(new.with_name(new.name + ".gz"))
            elif old.exists() and compress:
                new.with_name(new.name + ".gz").write_bytes(gzip.compress(old.read_bytes()))
                old.unlink()
            elif old.exists():
                old.rename(new)
        nights.write("log.csv", nights.rows(40))
        nights.run()
    nights.assert_all_counted_once()


def test_a_log_that_is_copied_and_truncated_is_recognised(nights):
    nights.write("log.csv", nights.rows(40))
    nights.run()
    shutil.copy(nights.folder / "log.csv", nights.folder / "log.csv.1")
    nights.write("log.csv", nights.rows(40))
    assert "log.csv is now log.csv.1" in nights.run()
    nights.assert_all_counted_once()


def test_a_file_with_other_rows_under_the_same_name_is_counted_and_named(nights):
    for _ in range(3):
        nights.write("latest.csv", nights.rows(30))
        notes = nights.run()
    assert "latest.csv was rewritten after it had been counted: 30 of its 30 rows are new" in notes
    nights.assert_all_counted_once()


def test_of_a_rewritten_file_only_the_new_rows_are_counted(nights):
    table = nights.rows(30)
    nights.write("day.csv", table)
    nights.run()
    more = nights.rows(5)
    nights.write("day.csv", pd.concat([more[:2], table[5:], more[2:]]))
    assert "5 of its 30 rows are new" in nights.run()
    nights.assert_all_counted_once()


def test_rows_that_are_all_alike_cannot_be_told_apart_and_are_counted(nights):
    table = nights.rows(30)
    alike = pd.concat([table[:1]] * 20)
    nights.write("day.csv", alike)
    nights.run()
    nights.write("day.csv", alike[:10])
    assert "10 of its 10 rows are new" in nights.run()


def test_half_a_line_waits_for_its_end(nights):
    text = nights.rows(3).to_csv(index=False)
    path = nights.folder / "day.csv"
    path.write_text(text[:-4])
    assert "The last line of day.csv has no line break" in nights.run()
    assert nights.summary.position == 2
    nights.run()
    assert nights.summary.position == 2
    path.write_text(text)
    nights.run()
    nights.assert_all_counted_once()


def test_a_whole_last_line_without_a_line_break_is_counted_when_the_file_is_old(nights):
    text = nights.rows(3).to_csv(index=False).rstrip("\n")
    (nights.folder / "day.csv").write_text(text)
    nights.run()
    assert nights.summary.position == 2
    nights.age("day.csv")
    nights.run()
    nights.assert_all_counted_once()


def test_half_a_last_line_is_never_counted_however_old(nights):
    text = nights.rows(3).to_csv(index=False)
    (nights.folder / "day.csv").write_text(text[: text.rindex(",", 0, text.rindex(","))])
    nights.age("day.csv")
    assert "has no line break" in nights.run()
    assert nights.summary.position == 2


def test_half_a_quoted_cell_waits_for_its_end(nights):
    table = nights.rows(3)
    table["remark"] = ["fine", "fine", "two\nlines"]
    text = table.to_csv(index=False)
    path = nights.folder / "day.csv"
    path.write_text(text[: text.index("lines")])
    nights.run()
    assert nights.summary.position == 2
    path.write_text(text)
    nights.run()
    nights.assert_all_counted_once()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig", "latin-1"])
def test_half_a_line_in_other_encodings(nights, encoding):
    data = nights.rows(3).to_csv(index=False).encode(encoding)
    path = nights.folder / "day.csv"
    options = {"encoding": encoding} if encoding[-3:] in {"-be", "-le"} else {}
    path.write_bytes(data[:-6])
    nights.run(**options)
    assert nights.summary.position == 2
    path.write_bytes(data)
    nights.run(**options)
    nights.assert_all_counted_once()


@pytest.mark.parametrize("ending", ["parquet", "csv.gz"])
def test_a_file_without_its_end_waits(nights, ending):
    table, path = nights.rows(200), nights.folder / f"day.{ending}"
    table.to_parquet(path) if ending == "parquet" else table.to_csv(path, index=False)
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    assert f"day.{ending} is still being written and waits for the next run" in nights.run()
    assert nights.summary.position == 0
    nights.age(f"day.{ending}")
    with pytest.raises(InputError, match=f"day.{ending}"):
        nights.run()
    path.write_bytes(data)
    nights.run()
    nights.assert_all_counted_once()


def test_empty_files_are_named_once(nights):
    (nights.folder / "day-1.csv").write_text("")
    nights.write("day-2.csv", nights.rows(2)[:0])
    nights.made = []
    notes = nights.run()
    assert nights.summary.empty_files == ("day-1.csv", "day-2.csv")
    assert "day-1.csv has no rows." in notes
    nights.run()
    assert nights.summary.empty_files == ()
    nights.write("day-1.csv", nights.rows(10))
    nights.run()
    nights.assert_all_counted_once()


def test_vanished_files_are_named_once_and_recognised_when_they_return(nights):
    nights.write("day-1.csv", nights.rows(40))
    nights.write("day-2.csv", nights.rows(40))
    nights.run()
    away = nights.folder.with_name("day-1.csv")
    (nights.folder / "day-1.csv").rename(away)
    assert nights.run() == "Vanished since they were counted: day-1.csv."
    assert nights.run() == ""
    away.rename(nights.folder / "day-1.csv")
    nights.run()
    nights.assert_all_counted_once()


def test_a_copy_under_another_name_is_counted_and_named(nights):
    table = nights.rows(40)
    nights.write("day-1.csv", table)
    nights.run()
    nights.write("day-2.csv", table)
    assert "day-2.csv has the same content as day-1.csv, which is still there" in nights.run()
    assert nights.summary.position == 80


def test_a_run_that_stopped_in_the_middle_of_a_rewritten_file_goes_on_there(nights, monkeypatch):
    monkeypatch.setattr("gapdrift.files._csv.BLOCK_BYTES", 4_096)
    table = nights.rows(600)
    nights.write("day.csv", table)
    nights.run()
    more = nights.rows(20)
    nights.write("day.csv", pd.concat([more[:10], table, more[10:]]))
    n_tables = 0
    honest = gd.Monitor.advance

    def stop(monitor, table):
        nonlocal n_tables
        n_tables += 1
        if n_tables == 2:
            raise KeyboardInterrupt
        return honest(monitor, table)

    with monkeypatch.context() as patch:
        patch.setattr(gd.Monitor, "advance", stop)
        with pytest.raises(KeyboardInterrupt), History(nights.database) as history:
            run_monitor(gd.Monitor(nights.detector, 100), open_files(nights.folder), history=history)
    nights.counted.update(range(600, 610))
    nights.run()
    nights.assert_all_counted_once()


class Deliveries:
    """What arrives in a folder night after night: whole, late, half, without its end, and empty at first."""

    def __init__(self, nights, rng):
        self.nights, self.rng, self.late, self.halves = nights, rng, {}, {}

    def complete(self, share=1.0):
        for name in [name for name in self.late if self.rng.random() < share]:
            self.nights.write(name, self.late.pop(name))
        for name in list(self.halves):
            (self.nights.folder / name).write_text(self.halves.pop(name))

    def deliver(self, name, table):
        path, text = self.nights.folder / name, table.to_csv(index=False)
        match self.rng.choice(["whole", "late", "half", "empty at first", "no line break"]):
            case "whole":
                path.write_text(text)
            case "late":
                self.late[name] = table
            case "half":
                self.halves[name] = text
                path.write_text(text[: int(self.rng.integers(0, len(text)))])
            case "empty at first":
                self.late[name] = table
                path.write_text("")
            case "no line break":
                path.write_text(text.rstrip("\n"))
                self.nights.age(name)

    def rewrite(self, name):
        path = self.nights.folder / name
        if path.exists() and name not in {*self.late, *self.halves}:
            self.nights.write(name, pd.concat([self.nights.rows(2), pd.read_csv(path)[::-1]]))

    def remove(self, name):
        if name not in {*self.late, *self.halves}:
            (self.nights.folder / name).unlink(missing_ok=True)


def test_sixty_nights(nights):
    """Rotation, late, rewritten, empty, half-written and vanished files: every row is counted once."""
    rng = np.random.default_rng(7)
    deliveries = Deliveries(nights, rng)
    log = nights.rows(20)
    for night in range(60):
        deliveries.complete(0.5)
        deliveries.deliver(f"day-{night}.csv", nights.rows(int(rng.integers(10, 40))))
        deliveries.rewrite(f"day-{night - int(rng.integers(1, 5))}.csv")
        nights.write("latest.csv", nights.rows(15))
        log = pd.concat([log, nights.rows(10)])
        nights.write("log.csv", log)
        nights.run()
        if night % 7 == 6:
            (nights.folder / "log.csv").rename(nights.folder / f"log.csv-{20260101 + night}")
            log = nights.rows(1)
            nights.write("log.csv", log)
        deliveries.remove(f"day-{night - 20}.csv")
    deliveries.complete()
    nights.run()
    nights.assert_all_counted_once()


def test_two_runs_on_a_new_history_at_once(nights):
    """One waits for the other, and then finds nothing that is new."""
    nights.write("day.csv", nights.rows(500))
    positions = []
    ready = threading.Barrier(2)

    def run():
        monitor = gd.Monitor(nights.detector, window=100)
        ready.wait()
        with History(nights.database) as history:
            positions.append(run_monitor(monitor, open_files(nights.folder), history=history).first_row)

    runs = [threading.Thread(target=run) for _ in range(2)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    assert sorted(positions) == [0, 500]
    with History(nights.database) as history:
        assert sum(record["n_rows"] for record in history.windows()) == 500
    assert sorted(path.name for path in nights.database.parent.iterdir()) == ["days", "history.db"]

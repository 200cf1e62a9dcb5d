"""A monitor over a stream with a history, to be killed by the test of crashes."""

from functools import partial

import sqlalchemy.dialects.sqlite  # noqa: F401  (imported once, not by each run that is forked from here)

from gapdrift import Monitor
from gapdrift.history import History
from gapdrift.sinks import JsonLines
from gapdrift.streaming import run_monitor
from tests.stream_rows import detector, part, rows

N_ROWS, CHUNK = 2_000, 8
DETECTOR = detector()


def chunks(pipe, position):
    """The stream from a position, in tables of a few rows; each waits for leave to be read."""
    stream = rows(N_ROWS, 5)
    stream["key"] = [place if place % 50 else place // 2 for place in range(N_ROWS)]
    for start in range(position, N_ROWS, CHUNK):
        if pipe is not None:
            pipe.recv()
        yield part(stream, start, start + CHUNK)


def make():
    return Monitor(DETECTOR, window=40, step=20, false_alarm_every=50, key_column="key")


def main(url, lines, pipe=None):
    """Run to the end of the stream, or as far as the pipe gives leave; each position reached is told on it."""
    progress = None if pipe is None else pipe.send
    with History(url) as history:
        run_monitor(make(), partial(chunks, pipe), history=history, sinks=[JsonLines(lines)], progress=progress)

"""A monitor over a stream with a history, to be killed by the test of crashes."""

from gapdrift import Monitor
from gapdrift.history import History
from gapdrift.sinks import JsonLines
from gapdrift.streaming.runner import run_monitor
from tests.stream_rows import detector, part, rows

N_ROWS, CHUNK = 2_000, 8
DETECTOR = detector()


def chunks(position):
    """The stream from a position, in tables of a few rows."""
    stream = rows(N_ROWS, 5)
    stream["key"] = [place if place % 50 else place // 2 for place in range(N_ROWS)]
    for start in range(position, N_ROWS, CHUNK):
        yield part(stream, start, start + CHUNK)


def make():
    return Monitor(DETECTOR, window=40, step=20, false_alarm_every=50, key_column="key")


def main(url, lines, told=None):
    """Run to the end of the stream, telling on a pipe each position reached."""
    progress = None if told is None else told.send
    with History(url) as history:
        run_monitor(make(), chunks, history=history, sinks=[JsonLines(lines)], progress=progress)

"""A monitor over a stream with a history, to be killed by the test of crashes."""

from gapdrift import Monitor
from gapdrift.history import History
from gapdrift.runner import run_monitor
from gapdrift.sinks import JsonLines
from tests.streams import detector, part, rows

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


def main(url, lines, begun=None):
    """Run to the end of the stream; say on a pipe that the first table was taken."""
    tell = iter([None] if begun is None else [begun.send])

    def progress(position):
        send = next(tell, None)
        if send is not None:
            send(position)

    with History(url) as history:
        run_monitor(make(), chunks, history=history, sinks=[JsonLines(lines)], progress=progress)

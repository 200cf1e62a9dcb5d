import os
import subprocess
import sys

import pytest

pytest.importorskip("fastapi")


def test_a_killed_service_keeps_every_acknowledged_push_once():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.service", "--only", "kill", "--kills", "3"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 bars reached" in done.stdout


def test_the_service_is_small():
    from benchmarks.service import measure_size

    (bar,) = measure_size(None)
    assert bar.reached, bar

"""What the guide gives to those who run the service: a Dockerfile, a unit of systemd, a board of Grafana."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from gapdrift.cli._app import app

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
GUIDE = (GUIDES / "service.md").read_text(encoding="utf-8")
METRIC = re.compile(r"gapdrift_service_\w+")


def block(kind):
    return re.search(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)[1]


def options_of(words):
    """Options of `gapdrift serve` in a command."""
    return {word for word in words[words.index("serve") :] if word.startswith("--")}


def test_the_board_shows_metrics_that_there_are(full_house):
    exported = set(METRIC.findall(full_house.call("operator", "GET", "/metrics").text))
    board = json.loads((GUIDES / "grafana.json").read_text(encoding="utf-8"))
    shown = {
        name for panel in board["panels"] for target in panel["targets"] for name in METRIC.findall(target["expr"])
    }
    assert shown
    assert shown <= exported


def test_made_up_methods_are_counted_as_one(full_house):
    for method in ("FOO", "BAR"):
        full_house.client.request(method, "/healthz")
    text = full_house.call("operator", "GET", "/metrics").text
    assert 'method="other"' in text
    assert "FOO" not in text


def test_commands_of_the_guide_have_options_that_there_are():
    known = {name for option in app.commands["serve"].params for name in option.opts}
    started = shlex.split(re.search(r"ExecStart=(.*)", block("ini"))[1])
    entry = json.loads(re.search(r"ENTRYPOINT (.*)", block("dockerfile"))[1])
    assert options_of(started) | options_of(entry) <= known
    health = json.loads(re.search(r"HEALTHCHECK CMD (.*)", block("dockerfile"))[1])
    compile(health[2], "health", "exec")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd")
def test_systemd_takes_the_unit(tmp_path):
    unit = tmp_path / "gapdrift.service"
    unit.write_text(block("ini").replace("/opt/gapdrift/bin/gapdrift", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

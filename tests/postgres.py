"""A PostgreSQL server of a test's own."""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@contextmanager
def server():
    """Address of a PostgreSQL server; the test is skipped where there are no binaries.

    Its folder is not one of pytest's: whenever another pytest begins, it closes the folder that all of these lie in to
    other users, and root has to leave its server to another user.
    """
    pytest.importorskip("psycopg")
    found = shutil.which("initdb") or next(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
    if found is None:
        pytest.skip("no PostgreSQL")
    binaries, user = Path(found).parent, []
    if os.geteuid() == 0:
        # initdb refuses to run as root.
        if shutil.which("setpriv") is None:
            pytest.skip("no setpriv to leave root with")
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    with TemporaryDirectory() as name:
        folder = Path(name)
        if user:
            shutil.chown(folder, "nobody")
        data = folder / "data"

        def call(*command):
            options = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(folder)}}
            done = subprocess.run([*user, *command], capture_output=True, text=True, check=False, **options)
            log = (folder / "log").read_text()[-2_000:] if (folder / "log").exists() else ""
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}\n{log}"

        call(binaries / "initdb", "-D", data, "-U", "gapdrift", "--auth=trust", "--no-sync", "-E", "UTF8")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        call(binaries / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "-t", "600", "start")
        try:
            yield f"postgresql+psycopg://gapdrift@/postgres?host={folder}"
        finally:
            call(binaries / "pg_ctl", "-D", data, "-m", "immediate", "-t", "600", "stop")

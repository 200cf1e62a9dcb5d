"""Results saved one by one, so that a run that is killed loses none of them."""

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["Journal"]


class Journal:
    """Finished tasks of a run and their results, one line of JSON for each.

    If the process dies while it writes a line, the line is cut short. A line without its end counts as not written,
    and is removed before the next one is added.

    Parameters
    ----------
    path : Path
    commit : str
        Of the code that adds results; saved with each of them, since a run may go on after the code has changed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "run.jsonl"
    >>> Journal(path).add(("gaussian-mean", 3), {"alarms": 2})
    >>> Journal(path).get(("gaussian-mean", 3))
    {'alarms': 2}
    """

    def __init__(self, path: Path, commit: str = "unknown") -> None:
        self.path = path
        self.commit = commit
        self._results = {key: (result, made_by) for key, result, made_by in self._read()}

    def __contains__(self, task: Any) -> bool:
        """Whether a task is finished."""
        return self._key(task) in self._results

    def get(self, task: Any) -> Any:
        """Result of a finished task."""
        return self._results[self._key(task)][0]

    def commit_of(self, task: Any) -> str:
        """Commit of the code that made the result of a finished task."""
        return str(self._results[self._key(task)][1])

    def add(self, task: Any, result: Any) -> None:
        """Save the result of a task."""
        key = self._key(task)
        line = json.dumps([key, result, self.commit], allow_nan=False).encode() + b"\n"
        with self.path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._results[key] = json.loads(line)[1], self.commit

    def _key(self, task: Any) -> str:
        return json.dumps(task)

    def _read(self) -> list[list[Any]]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        data = self.path.read_bytes() if self.path.is_file() else b""
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        return [json.loads(line) for line in whole.splitlines()]

"""Stand-in until the storage module is merged: bytes of evidence, detectors and results."""

import io
import json
import pickle
from typing import Any

import numpy as np

from gapdrift.evidence import Evidence

__all__ = ["dumps", "loads"]


def dumps(thing: Any) -> bytes:
    """Bytes that `loads` reads."""
    if not isinstance(thing, Evidence):
        return b"STAND-IN" + pickle.dumps(thing)
    facts = json.dumps([int(thing.n_rows), thing.origin, sorted(thing.notes)]).encode()
    file = io.BytesIO()
    np.savez(file, facts=np.frombuffer(facts, dtype=np.uint8), **thing.sums)  # type: ignore[arg-type]
    return file.getvalue()


def loads(data: bytes) -> Any:
    """What `dumps` wrote."""
    if data.startswith(b"STAND-IN"):
        return pickle.loads(data[8:])
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        n_rows, origin, notes = json.loads(arrays["facts"].tobytes())
        sums = {name: arrays[name] for name in arrays.files if name != "facts"}
    return Evidence(n_rows, sums, origin, frozenset(notes))

"""The three measurements: speed, verdicts and conformance; every answer is written down as it comes."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import conformance
from benchmarks.peers.environments import PEERS, prepare
from benchmarks.peers.methods import Method
from benchmarks.peers.scenarios import Case, cases, draw, write_pair
from benchmarks.peers.worker import Worker, failure
from experiments.journal import Journal

__all__ = ["ALPHA", "SPEED", "VERDICT_ROWS", "Run", "conformance_task", "speed_task", "verdict_task"]

ALPHA = 0.05
VERDICT_ROWS = 1_000
SPEED = Case("numbers", "none", 0.2)
"""What is timed: four columns, 20 % missing, no drift."""

_WARM_UP = Case("numbers", "none", 0.0)
_QUICK = 5.0
_REPEATS = 3
_PATIENCE = 3
_ROOT = Path(__file__).parents[2]

Answers = dict[str, Any]
Ask = Callable[..., Answers]


def speed_task(method: Method, size: int) -> list[Any]:
    """Key of a timing in the journal."""
    return ["speed", *_versions(method), size]


def verdict_task(method: Method, case: Case, seed: int) -> list[Any]:
    """Key of one trial in the journal."""
    return ["verdict", *_versions(method), case.kind, case.scenario, case.rate, seed]


def conformance_task(method: Method, case: conformance.Input, side: str) -> list[Any]:
    """Key of one awkward window in the journal."""
    return ["conformance", *_versions(method), case.name, side]


def _versions(method: Method) -> list[Any]:
    """A method as the journal knows it: with other versions it is another one."""
    return [method.title, list(PEERS[method.peer].requirements)]


@dataclass(frozen=True)
class Run:
    """What all measurements share.

    Parameters
    ----------
    journal : Journal
    timeout : float
        Processor seconds for one command.
    memory_gib : float
        What a peer's process may allocate.
    progress : callable
        Told what is being done.
    seconds : float
        Of the processor, that a method may spend on the trials of one situation; it then has made fewer.
    """

    journal: Journal
    timeout: float
    memory_gib: float
    progress: Callable[[str], None]
    seconds: float = float("inf")

    def speed(self, methods: Sequence[Method], sizes: Sequence[int]) -> None:
        """Time and memory of each method in a process of its own, after a small warm-up that belongs to no side."""
        with tempfile.TemporaryDirectory() as folder:
            for size in sorted(sizes):
                pair = write_pair(Path(folder) / str(size), *draw(SPEED, size, seed=0))
                small = write_pair(Path(folder) / "small", *draw(SPEED, 200, seed=1))
                for method in methods:
                    self._speed(method, size, sizes, pair, small)

    def verdicts(self, methods: Sequence[Method], trials: int) -> None:
        """Verdicts of each method on all scenarios; what failed three times in a row in one of them is not tried on."""
        with tempfile.TemporaryDirectory() as folder:
            for peer, own in _by_peer(methods):
                with self._worker(peer) as ask:
                    for method in own:
                        warm = self._warmed(ask, method, Path(folder))
                        for case in cases():
                            self._trials(warm, method, case, trials, Path(folder))

    def conformance(self, methods: Sequence[Method]) -> None:
        """Answers of each method to the awkward inputs."""
        with tempfile.TemporaryDirectory() as folder:
            for case in (conformance.CONTROL, *conformance.INPUTS):
                for side, table in (made := conformance.sides(case)).items():
                    write_pair(Path(folder) / case.name / side, made["reference"], table)
            for peer, own in _by_peer(methods):
                with self._worker(peer) as ask:
                    for method in own:
                        self._awkward(self._warmed(ask, method, Path(folder)), method, Path(folder))

    def _speed(
        self, method: Method, size: int, sizes: Sequence[int], pair: dict[str, str], small: dict[str, str]
    ) -> None:
        task = speed_task(method, size)
        if task in self.journal:
            return
        smaller = [speed_task(method, other) for other in sizes if other < size]
        hopeless = [other for other in smaller if self._too_slow(other)]
        if hopeless:
            self.journal.add(task, failure(f"not tried: too much for it at {hopeless[0][-1]:,} rows"))
            return
        self.progress(f"speed, {size:,} rows, {method.title}")
        with self._worker(method.peer) as ask:
            ask(_command(method, small, 0), warm_up=True)
            found = [ask(_command(method, pair, 0))]
            while found[0]["error"] is None and found[0]["seconds"] < _QUICK and len(found) < _REPEATS:
                found.append(ask(_command(method, pair, 0)))
        self.journal.add(task, min(found, key=lambda answer: answer["cpu_seconds"] or 0.0))

    def _too_slow(self, task: list[Any]) -> bool:
        error = self.journal.get(task)["error"] if task in self.journal else None
        return error is not None and error.startswith(
            ("timeout", "crash", "does not start", "MemoryError", "not tried")
        )

    def _trials(self, ask: Ask, method: Method, case: Case, trials: int, folder: Path) -> None:
        failed, spent = 0, 0.0
        for seed in range(trials):
            task = verdict_task(method, case, seed)
            if task not in self.journal:
                if failed >= _PATIENCE or spent >= self.seconds:
                    return
                self.progress(
                    f"verdicts, {case.kind}, {case.scenario}, {case.rate:.0%}, trial {seed + 1}, {method.title}"
                )
                self.journal.add(task, ask(_command(method, _pair(folder, case, seed), seed)))
            failed = failed + 1 if self.journal.get(task)["error"] else 0
            spent += self.journal.get(task)["cpu_seconds"] or 0.0

    def _awkward(self, ask: Ask, method: Method, folder: Path) -> None:
        for case in (conformance.CONTROL, *conformance.INPUTS):
            for side in ("calm", "drifted"):
                task = conformance_task(method, case, side)
                if task not in self.journal:
                    self.progress(f"conformance, {case.name}, {method.title}")
                    self.journal.add(task, ask(_command(method, _paths(folder / case.name / side), 0)))

    def _warmed(self, ask: Ask, method: Method, folder: Path) -> Ask:
        """A function that asks a small table without gaps before the first command, for what libraries compile."""
        cold = [True]

        def asked(command: Answers) -> Answers:
            if cold:
                cold.clear()
                small = write_pair(folder / "small", *draw(_WARM_UP, 200, seed=0))
                ask(_command(method, small, 0), warm_up=True)
            answer = ask(command)
            if (answer["error"] or "").startswith(("timeout", "crash")):
                cold.append(True)
            return answer

        return asked

    @contextmanager
    def _worker(self, peer: str) -> Iterator[Ask]:
        """A function that asks a peer; its environment is made, and its process started, when it is first asked."""
        with ExitStack() as stack:
            found: list[Ask] = []

            def ask(command: Answers, *, warm_up: bool = False) -> Answers:
                if not found:
                    found.append(self._opened(peer, stack))
                return found[0](command, warm_up=warm_up)

            yield ask

    def _opened(self, peer: str, stack: ExitStack) -> Ask:
        """What asks a peer; where it could not be installed the answer to everything is why."""
        environment = prepare(PEERS[peer])
        if environment.error:
            return lambda *_, **__: failure(f"not installed: {environment.error}")
        ours = "" if PEERS[peer].requirements else str(_ROOT / "src")
        worker = Worker(environment.python, PEERS[peer].adapter, self.timeout, self.memory_gib, ours)
        return stack.enter_context(worker).ask


def _by_peer(methods: Sequence[Method]) -> list[tuple[str, list[Method]]]:
    peers = dict.fromkeys(method.peer for method in methods)
    return [(peer, [method for method in methods if method.peer == peer]) for peer in peers]


def _command(method: Method, pair: dict[str, str], seed: int) -> Answers:
    return {**pair, "method": method.name, "fill": method.filled, "alpha": ALPHA, "seed": seed}


def _pair(folder: Path, case: Case, seed: int) -> dict[str, str]:
    """Files of a trial, written when they are first asked for."""
    place = folder / f"{case.kind}-{case.scenario}-{case.rate}-{seed}"
    if not (place / "window.parquet").is_file():
        write_pair(place, *draw(case, VERDICT_ROWS, seed))
    return _paths(place)


def _paths(folder: Path) -> dict[str, str]:
    return {side: str(folder / f"{side}.parquet") for side in ("reference", "window")}

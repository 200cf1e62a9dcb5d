"""The one thread that changes monitors: jobs that wait together are done in one transaction."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from gapdrift.errors import GapdriftError, InputError
from gapdrift.service.database import Database
from gapdrift.service.errors import UnavailableError
from gapdrift.service.running import RunningMonitors, SpoiledError

__all__ = ["Job", "Writer"]

MOST_JOBS = 64
"""Largest number of jobs in one transaction."""

Result = TypeVar("Result")

Job = Callable[[Connection, RunningMonitors], Any]
"""Function that changes monitors; it raises a `GapdriftError` only before it has changed anything."""

logger = logging.getLogger("gapdrift.service")


class Writer:
    """Thread that does jobs one after the other; an answer comes when what was done is on the disk.

    Parameters
    ----------
    database : Database
    running : RunningMonitors
    """

    def __init__(self, database: Database, running: RunningMonitors) -> None:
        self._database, self._running = database, running
        self._queue: SimpleQueue[tuple[Job, Future[Any]] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="gapdrift-writer", daemon=True)
        self._stopping = False

    def start(self) -> None:
        """Begin to do jobs."""
        self._thread.start()

    def stop(self) -> None:
        """Do the jobs that wait, then stop."""
        self._stopping = True
        self._queue.put(None)
        self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether jobs are being done."""
        return self._thread.is_alive() and not self._stopping

    @property
    def waiting(self) -> int:
        """Number of jobs that wait."""
        return self._queue.qsize()

    def submit(self, job: Job) -> "Future[Any]":
        """Result of a job, once it was done."""
        future: Future[Any] = Future()
        if self._stopping:
            future.set_exception(UnavailableError("The service is being stopped. Send the request again later."))
        else:
            self._queue.put((job, future))
        return future

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                return
            batch, ended = [first], False
            while len(batch) < MOST_JOBS and not ended:
                try:
                    more = self._queue.get_nowait()
                except Empty:
                    break
                if more is None:
                    ended = True
                else:
                    batch.append(more)
            self._do_all(batch)
            if ended:
                return

    def _do_all(self, batch: list[tuple[Job, "Future[Any]"]]) -> None:
        """Do jobs in one transaction; if that fails, do each in its own."""
        try:
            answers = self._do(batch)
        except Exception as error:
            self._running.forget()
            if len(batch) > 1:
                for pair in batch:
                    self._do_all([pair])
                return
            logger.exception("A job of the writer failed.")
            answers = [_answer_to(error)]
        for (_, future), answer in zip(batch, answers, strict=True):
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _do(self, batch: list[tuple[Job, "Future[Any]"]]) -> list[Any]:
        """Answers of jobs, or the errors with which they were refused, after what they did is written."""
        answers: list[Any] = []
        self._running.begin()
        with self._database.write() as connection:
            for job, _ in batch:
                try:
                    answers.append(job(connection, self._running))
                except GapdriftError as error:
                    answers.append(error)
            for running in self._running.changed():
                running.write(connection)
        self._running.trim()
        return answers


def _answer_to(error: Exception) -> Exception:
    """What a client is told about an error of a job."""
    if isinstance(error, SQLAlchemyError):
        return UnavailableError("The database could not be written. Send the request again.")
    if isinstance(error, SpoiledError):
        return InputError(
            "The window that would be decided now cannot be: its sums, of this push or of an earlier one, are not "
            "those of any rows. Nothing was taken. To begin a new window, upload the reference again."
        )
    return error

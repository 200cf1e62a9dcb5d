"""Types of the HTTP interface: what requests hold and what answers hold."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gapdrift.tables.times import as_datetime

__all__ = [
    "Alarm",
    "AlarmPage",
    "AuditLine",
    "AuditPage",
    "Comment",
    "ComparisonAnswer",
    "Member",
    "Monitor",
    "Mute",
    "Name",
    "NewComment",
    "NewMute",
    "NewProject",
    "NewSink",
    "NewToken",
    "NewTokenAnswer",
    "NormalSpan",
    "Problem",
    "Project",
    "PushAnswer",
    "Reference",
    "ReferenceAnswer",
    "SinkFacts",
    "SpanAnswer",
    "Token",
    "WindowPage",
    "WindowSummary",
    "moment",
]

NAME = r"^[a-z0-9][a-z0-9_.-]{0,59}$"
"""Names of projects, monitors, users and tokens: they are parts of addresses."""

Name = Annotated[str, StringConstraints(pattern=NAME)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Words = Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=r"^[^\x00]+$")]
Zone = Literal["calm", "warning", "drift", "undetermined"]


def moment(micros: int | None) -> datetime | None:
    """Time of stored microseconds."""
    return None if micros is None else as_datetime(micros)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(_Model):
    """Why a request was refused."""

    detail: str


class NewProject(_Model):
    """A project to be made."""

    name: Name
    title: Line


class Project(_Model):
    """A project."""

    name: str
    title: str
    role: str
    n_monitors: int
    open_alarms: int


class Monitor(_Model):
    """A monitor with the state of its stream."""

    name: str
    settings: dict[str, Any]
    reference_version: int
    position: int = Field(description="Number of rows taken since the start.")
    room: int | None = Field(description="Rows that evidence may have now; null for windows of time.")
    pane: int | str = Field(description="Rows or time of a pane, which evidence must fit into.")
    n_windows: int
    zone: Zone
    p_value: float | None
    decided: datetime | None


class Reference(_Model):
    """One version of a monitor's reference."""

    version: int
    origin: str
    note: str
    n_rows: int
    columns: list[str]
    created: datetime
    created_by: str
    current: bool


class ReferenceAnswer(_Model):
    """A reference that was added."""

    version: int
    rows_in_no_window: int


class WindowSummary(_Model):
    """A decided window, without its full result."""

    number: int
    n_windows: int
    zone: Zone
    p_value: float
    n_rows: int
    first_row: int | None
    last_row: int | None
    starts: datetime | None
    ends: datetime | None
    decided: datetime
    values_p: float | None
    values_effect: float | None
    missing_p: float | None
    missing_effect: float | None
    concept_p: float | None = Field(description="Of the label given the other columns; null without a target.")
    concept_effect: float | None
    adapted: bool
    reference_version: int


class WindowPage(_Model):
    """Windows, the latest first; ``next`` is what ``before`` has to be for the page after this one."""

    items: list[WindowSummary]
    next: int | None


class PushAnswer(_Model):
    """What a push led to."""

    repeated: bool = Field(description="Whether this push was taken before; it then changed nothing now.")
    n_rows: int
    late_rows: int
    duplicate_rows: int
    untimed_rows: int
    position: int
    room: int | None
    windows: list[WindowSummary] = Field(description="Windows that were decided by this push.")


class SpanAnswer(_Model):
    """Result of a span against the reference."""

    n_rows: int
    reference_version: int
    result: dict[str, Any]


class ComparisonAnswer(_Model):
    """Result of one span against another."""

    n_rows: int
    n_rows_before: int
    result: dict[str, Any]


class NormalSpan(_Model):
    """Span whose rows are normal from now on: windows from ``start`` to before ``end``, numbers or times."""

    start: str
    end: str
    note: Line = "normal from now on"


class Alarm(_Model):
    """An alarm of the inbox."""

    id: int
    monitor: str
    number: int
    zone: Zone
    p_value: float
    columns: list[str]
    state: Literal["open", "acknowledged", "muted"]
    raised: datetime
    handled_by: str
    handled: datetime | None


class AlarmPage(_Model):
    """Alarms, the latest first."""

    items: list[Alarm]
    next: int | None


class NewComment(_Model):
    """A comment on an alarm."""

    words: Words


class Comment(_Model):
    """A comment on an alarm."""

    author: str
    written: datetime
    words: str


class NewMute(_Model):
    """A column whose alarms are not sent until a time."""

    column: Annotated[str, StringConstraints(min_length=0, max_length=1_000)]
    until: datetime


class Mute(_Model):
    """A column that is muted."""

    id: int
    column: str
    until: datetime
    created_by: str


class NewToken(_Model):
    """An API token to be made."""

    name: Name
    role: Literal["viewer", "editor"]


class NewTokenAnswer(_Model):
    """An API token, shown this once."""

    id: int
    token: str


class Token(_Model):
    """An API token, without its secret."""

    id: int
    name: str
    role: str
    created: datetime
    created_by: str


class NewSink(_Model):
    """Where alarms are to be sent."""

    name: Name
    kind: Literal["webhook", "slack", "email"]
    settings: dict[str, Annotated[str, StringConstraints(max_length=2_000)] | int]


class SinkFacts(_Model):
    """Where alarms are sent, without secrets."""

    id: int
    name: str
    kind: str
    target: str
    pending: int
    failed: int
    reason: str


class Member(_Model):
    """A user with a role in the project."""

    name: Name
    role: Literal["viewer", "editor", "admin"]


class AuditLine(_Model):
    """A line of the audit log."""

    id: int
    at: datetime
    who: str
    action: str
    subject: str
    detail: str


class AuditPage(_Model):
    """Lines of the audit log, the latest first."""

    items: list[AuditLine]
    next: int | None

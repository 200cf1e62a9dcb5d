"""Requests drawn at random from an OpenAPI description: right, nearly right and hostile ones."""

import json
import random
from collections.abc import Iterator
from typing import Any

__all__ = ["draw_requests"]

WORDS = ("own", "foreign", "orders", "absent", "0", "1", "7", "-1", "9" * 25, "2026-01-01", "2026-01-01T00:00:00+99:00")
HOSTILE = ("", " ", "%00", "%0a", "..%2f..", "';--", "<script>", "%F0%9F%92%A9", "{{7*7}}", "a" * 300, "%ff", "NaN")
RIGHT = ("viewer", "orders", "webhook", "6", "2999-01-01T00:00:00Z")
BODIES: tuple[Any, ...] = (None, 0, -1, 1e308, "", "x", "\u0000", [], [[]], {}, {"": ""}, True, "2026-13-45", "9" * 400)
TYPES = (
    "application/json",
    "text/csv",
    "application/vnd.gapdrift.evidence",
    "application/vnd.apache.parquet",
    "application/vnd.apache.arrow.stream",
    "application/octet-stream",
    "multipart/form-data",
    "",
)
ROLES = ("viewer", "editor", "admin", "operator", "stranger", "token", None)

Request = tuple[str | None, str, str, dict[str, Any]]
"""Role, method, path, and further options of a request."""


def draw_requests(schema: dict[str, Any], count: int, seed: int) -> Iterator[Request]:
    """Requests to all paths of a description, drawn at random.

    Parameters
    ----------
    schema : dict
        OpenAPI description.
    count : int
    seed : int
    """
    rng = random.Random(seed)
    operations = [
        (path, method, facts)
        for path, methods in sorted(schema["paths"].items())
        for method, facts in sorted(methods.items())
    ]
    for _ in range(count):
        path, method, facts = rng.choice(operations)
        # Removing everything would make the rest of the run pointless.
        role = rng.choice(ROLES) if method != "delete" else rng.choice(("viewer", None))
        yield role, method.upper(), _draw_path(path, facts, rng), _draw_options(method, facts, schema, rng)


def _draw_word(rng: random.Random) -> str:
    return rng.choice(WORDS) if rng.random() < 0.7 else rng.choice(HOSTILE)


def _draw_path(path: str, facts: dict[str, Any], rng: random.Random) -> str:
    """Path with its parameters filled in, mostly so that it leads somewhere."""
    usual = {"project": "own", "monitor": "orders"}
    query = []
    for parameter in facts.get("parameters", ()):
        name = parameter["name"]
        word = usual.get(name, "7") if rng.random() < 0.8 else _draw_word(rng)
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", word or "x")
        elif parameter["in"] == "query" and (parameter.get("required") or rng.random() < 0.3):
            query.append(f"{name}={_draw_word(rng)}")
    return path + ("?" + "&".join(query) if query else "")


def _draw_options(method: str, facts: dict[str, Any], schema: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    if "requestBody" not in facts and method in {"get", "delete"}:
        return {}
    headers = {"content-type": rng.choice(TYPES)}
    if rng.random() < 0.3:
        headers["idempotency-key"] = rng.choice(("a", "x" * 99, "x" * 101, "\t"))
    if rng.random() < 0.5:
        body = json.dumps(_draw_body(facts, schema, rng)).encode()
        headers["content-type"] = "application/json"
    else:
        body = rng.choice((b"", b"PK\x03\x04", b"PAR1", b"x,y,c\n1,2,red\n", b"\xff\xff\xff\xff", rng.randbytes(200)))
    return {"content": body, "headers": headers}


def _draw_body(facts: dict[str, Any], schema: dict[str, Any], rng: random.Random) -> Any:
    """JSON with the fields that are asked for, some of them as they should not be."""
    content = facts.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = content.get("$ref", "").rpartition("/")[2]
    fields = schema["components"]["schemas"].get(name, {}).get("properties", {})
    if not fields or rng.random() < 0.2:
        return rng.choice(BODIES)
    return {
        field: rng.choice(BODIES) if rng.random() < 0.5 else rng.choice(RIGHT) for field in fields if rng.random() < 0.9
    }

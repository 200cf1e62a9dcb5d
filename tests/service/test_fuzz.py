"""Requests drawn at random from the description of the interface: no answer is an error of the service."""

import pytest

pytest.importorskip("fastapi")

from benchmarks._requests import draw_requests

REQUESTS = 250


def test_no_request_breaks_the_service(full_house):
    schema = full_house.client.get("/api/openapi.json").json()
    seen = set()
    for role, method, path, options in draw_requests(schema, REQUESTS, seed=5):
        headers = dict(options.pop("headers", {}))
        answer = full_house.call(role, method, path, headers=headers, **options)
        seen.add(answer.status_code)
        assert answer.status_code < 500, (method, path, options, answer.text)
        assert "Traceback" not in answer.text
    assert {200, 404, 422} <= seen
    assert full_house.client.get("/readyz").text == "ok\n"

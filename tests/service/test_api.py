"""The HTTP interface: what is pushed comes back as the monitor decided it."""

import json
import shutil
from datetime import timedelta

import pytest

import gapdrift as gd
from gapdrift.service.monitors import Push, take_push
from gapdrift.storage import dumps, loads
from tests.service.conftest import WINDOW, reopen
from tests.stream_rows import START, detector, part, rows, timed

pytest.importorskip("fastapi")

OWN = "/api/v1/projects/own"
ORDERS = f"{OWN}/monitors/orders"


def test_p_values_are_those_of_the_local_detector(full_house):
    found = full_house.call("viewer", "GET", f"{ORDERS}/windows").json()["items"][::-1]
    assert [window["number"] for window in found] == list(range(8))
    for place, window in enumerate(found):
        table = rows(WINDOW, 10 + place, shift=2.0 * (place >= 6))
        local = detector().test(table, alpha=0.001)
        assert abs(window["p_value"] - local.p_value) <= 1e-12
        assert abs(window["values_p"] - local.values.p_value) <= 1e-12
        full = full_house.call("viewer", "GET", f"{ORDERS}/windows/{place}").json()["result"]
        assert full["p_value"] == window["p_value"]
    assert [window["zone"] == "drift" for window in found] == [False] * 6 + [True] * 2


def test_a_push_is_taken_once(full_house):
    evidence = detector().count(rows(WINDOW, 17, shift=2.0))
    again = full_house.push(evidence, key="k7").json()
    assert again["repeated"]
    assert [window["number"] for window in again["windows"]] == [7]
    other = full_house.push(detector().count(rows(WINDOW, 99)), key="k7")
    assert other.status_code == 409
    assert full_house.call("viewer", "GET", ORDERS).json()["n_windows"] == 8


def test_the_same_push_waits_twice(full_house):
    # Both are in the queue of the writer before the first is on the disk: they are done in one transaction.
    evidence = detector().count(rows(10, 5))
    push = Push("twice", "same", evidence=evidence)

    def take(connection, running):
        own = running.find(connection, full_house.projects["own"], "orders")
        return [take_push(connection, own, push) for _ in range(2)]

    first, second = full_house.service.change(take)
    assert (first["repeated"], second["repeated"]) == (False, True)
    assert full_house.call("viewer", "GET", ORDERS).json()["position"] == 8 * WINDOW + 10


def test_a_monitor_that_was_removed_leaves_nothing_to_the_next(full_house):
    labelled = gd.DriftDetector(random_state=0, target="y").fit(rows(400, 0))
    assert full_house.call("admin", "DELETE", ORDERS).status_code == 204
    assert full_house.make_monitor(fitted=labelled).status_code == 201
    table = rows(WINDOW, 10)
    (window,) = full_house.push(labelled.count(table)).json()["windows"]
    local = labelled.test(table, alpha=0.001)
    assert abs(window["p_value"] - local.p_value) <= 1e-12
    assert window["concept_p"] == local.concept.p_value
    page = full_house.call("viewer", "GET", "/projects/own/monitors/orders").text
    assert "Label, given the other columns" in page


def test_evidence_that_does_not_fit_is_refused_with_the_room(full_house):
    full_house.push(detector().count(rows(20, 1)))
    answer = full_house.push(detector().count(rows(31, 2)))
    assert answer.status_code == 409
    assert "takes 30 more" in answer.json()["detail"]
    assert full_house.push(detector().count(rows(30, 2))).json()["windows"][0]["n_rows"] == WINDOW


def test_pages_by_keyset(full_house):
    numbers, before = [], None
    while True:
        query = {"limit": 3, **({} if before is None else {"before": before})}
        page = full_house.call("viewer", "GET", f"{ORDERS}/windows", params=query).json()
        numbers += [window["number"] for window in page["items"]]
        before = page["next"]
        if before is None:
            break
    assert numbers == list(range(8))[::-1]
    drifted = full_house.call("viewer", "GET", f"{ORDERS}/windows", params={"zone": "drift"}).json()["items"]
    assert [window["number"] for window in drifted] == [7, 6]


@pytest.mark.parametrize("kind", ["json", "columns", "csv", "parquet", "arrow"])
def test_rows_in_every_form(house, kind):
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    import io

    house.make_monitor()
    table = rows(60, 5)
    frame = pd.DataFrame(table)
    sink = io.BytesIO()
    if kind == "json":
        kind_of, body = "application/json", frame.to_json(orient="records").encode()
    elif kind == "columns":
        kind_of, body = (
            "application/json",
            json.dumps(frame.astype(object).where(frame.notna(), None).to_dict("list")).encode(),
        )
    elif kind == "csv":
        kind_of, body = "text/csv", frame.to_csv(index=False).encode()
    elif kind == "parquet":
        frame.to_parquet(sink)
        kind_of, body = "application/vnd.apache.parquet", sink.getvalue()
    else:
        arrow = pa.Table.from_pandas(frame)
        with pa.ipc.new_stream(sink, arrow.schema) as writer:
            writer.write_table(arrow)
        kind_of, body = "application/vnd.apache.arrow.stream", sink.getvalue()
    answer = house.call("token", "POST", f"{ORDERS}/push", content=body, headers={"content-type": kind_of})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["n_rows"], answer.json()["room"]) == (60, 40)
    local = detector().test(part(table, 0, WINDOW), alpha=0.001)
    assert answer.json()["windows"][0]["p_value"] == pytest.approx(local.p_value, rel=1e-6)


def test_windows_of_time_late_evidence_and_flush(house):
    house.make_monitor(window="1min", time_column="time")
    counted = detector().count(rows(30, 1))
    first = {"start": START.isoformat(), "end": (START + timedelta(seconds=59)).isoformat()}
    later = {"start": (START + timedelta(minutes=2)).isoformat(), "end": (START + timedelta(minutes=2)).isoformat()}
    assert house.push(counted, **first).json()["windows"] == []
    decided = house.push(counted, **later).json()
    assert [window["zone"] for window in decided["windows"]] == ["calm", "undetermined"]
    assert house.push(counted, **first).json()["late_rows"] == 30
    assert house.call("editor", "POST", f"{ORDERS}/flush").json() == {"windows": 1}
    assert house.push(counted).status_code == 422
    assert house.push(counted, start="1", end="2").status_code == 422
    span = house.call("viewer", "GET", f"{ORDERS}/span", params={"from": first["start"], "to": later["start"]}).json()
    assert span["n_rows"] == 30


def test_a_span_is_the_test_of_its_rows(full_house):
    table = {name: [*(cell for k in range(6) for cell in rows(WINDOW, 10 + k)[name])] for name in ("x", "y", "c")}
    local = detector().test(table)
    span = full_house.call("viewer", "GET", f"{ORDERS}/span", params={"from": 0, "to": 6}).json()
    assert span["n_rows"] == 6 * WINDOW
    assert span["result"]["p_value"] == pytest.approx(local.p_value, rel=1e-9)
    nothing = full_house.call("viewer", "GET", f"{ORDERS}/span", params={"from": 90, "to": 99})
    assert nothing.status_code == 404
    assert full_house.call("viewer", "GET", f"{ORDERS}/span", params={"from": "soon"}).status_code == 422


def test_two_spans_are_compared(full_house):
    moved = {"before_from": 0, "before_to": 6, "from": 6, "to": 8}
    same = {"before_from": 0, "before_to": 3, "from": 3, "to": 6}
    found = [full_house.call("viewer", "GET", f"{ORDERS}/compare", params=spans).json() for spans in (moved, same)]
    assert found[0]["result"]["drift"]
    # Calm rows differ at 0.05 one time in twenty.
    assert found[0]["result"]["p_value"] < 1e-9
    assert found[1]["result"]["p_value"] > 1e-3


def test_normal_from_now_on(full_house):
    made = full_house.call("editor", "POST", f"{ORDERS}/normal", json={"start": "6", "end": "8"})
    assert made.json() == {"version": 2, "rows_in_no_window": 0}
    window = full_house.push(detector().count(rows(WINDOW, 50, shift=2.0))).json()["windows"][0]
    assert (window["zone"], window["reference_version"]) == ("calm", 2)
    versions = full_house.call("viewer", "GET", f"{ORDERS}/references").json()
    assert [(one["version"], one["current"], one["n_rows"]) for one in versions] == [(2, True, 100), (1, False, 400)]
    stored = loads(full_house.call("viewer", "GET", f"{ORDERS}/references/2").content)
    assert stored.evidence_.n_rows == 100


def test_another_reference_is_uploaded(full_house):
    other = gd.DriftDetector(random_state=0).fit(rows(300, 77, shift=2.0))
    full_house.push(detector().count(rows(20, 1)))
    made = full_house.call("editor", "POST", f"{ORDERS}/references", content=dumps(other), params={"note": "retrained"})
    assert made.json() == {"version": 2, "rows_in_no_window": 20}
    assert full_house.push(detector().count(rows(20, 1))).status_code == 422
    assert full_house.push(other.count(rows(WINDOW, 5, shift=2.0))).json()["windows"][0]["zone"] == "calm"


def test_alarms_comments_and_mutes(full_house):
    alarms = full_house.call("viewer", "GET", f"{OWN}/alarms").json()["items"]
    assert [(one["number"], one["zone"], one["state"]) for one in alarms] == [
        (7, "drift", "open"),
        (6, "drift", "open"),
    ]
    assert set(alarms[0]["columns"]) <= {"x", "y", "c"}
    first = alarms[0]["id"]
    done = full_house.call("editor", "POST", f"{OWN}/alarms/{first}/acknowledge").json()
    assert (done["state"], done["handled_by"]) == ("acknowledged", "editor")
    full_house.call("editor", "POST", f"{OWN}/alarms/{first}/comments", json={"words": "A sensor.\nReplaced."})
    said = full_house.call("viewer", "GET", f"{OWN}/alarms/{first}/comments").json()
    assert [(one["author"], one["words"]) for one in said] == [("editor", "A sensor.\nReplaced.")]
    for column in ("x", "y"):
        new = {"column": column, "until": "2999-01-01T00:00:00Z"}
        assert full_house.call("editor", "POST", f"{ORDERS}/mutes", json=new).status_code == 201
    full_house.push(detector().count(rows(WINDOW, 60, shift=2.0)))
    muted = full_house.call("viewer", "GET", f"{OWN}/alarms", params={"state": "muted"}).json()["items"]
    assert [one["number"] for one in muted] == [8]
    one, _ = full_house.call("viewer", "GET", f"{ORDERS}/mutes").json()
    assert full_house.call("editor", "DELETE", f"{ORDERS}/mutes/{one['id']}").status_code == 204
    assert full_house.call("editor", "DELETE", f"{ORDERS}/mutes/{one['id']}").status_code == 404
    past = {"column": "x", "until": "2020-01-01T00:00:00Z"}
    assert full_house.call("editor", "POST", f"{ORDERS}/mutes", json=past).status_code == 422


def test_a_restarted_service_goes_on(built, tmp_path):
    folder, facts = built
    url = shutil.copy(folder / "full.db", tmp_path / "service.db")
    first = reopen(facts, url)
    with first.client:
        first.push(detector().count(rows(20, 1)))
    again = reopen(facts, url)
    with again.client:
        found = again.call("viewer", "GET", ORDERS).json()
        assert (found["n_windows"], found["room"], found["position"]) == (8, 30, 420)
        assert again.push(detector().count(rows(30, 2))).json()["windows"][0]["first_row"] == 400


def test_what_is_removed_is_gone(full_house):
    assert full_house.call("admin", "DELETE", ORDERS).status_code == 204
    assert full_house.call("admin", "GET", ORDERS).status_code == 404
    assert full_house.call("admin", "GET", f"{OWN}/alarms").json()["items"] == []
    assert full_house.make_monitor().status_code == 201
    assert full_house.call("viewer", "GET", ORDERS).json()["n_windows"] == 0


def test_metrics_of_the_own_project_only(full_house):
    full_house.make_monitor("secret", project="foreign")
    own = full_house.call("token", "GET", "/metrics").text
    assert 'gapdrift_service_windows_total{project="own",monitor="orders"} 8' in own
    assert 'gapdrift_service_zone{project="own",monitor="orders",zone="drift"} 1' in own
    assert "secret" not in own
    assert "requests_total" not in own
    whole = full_house.call("operator", "GET", "/metrics").text
    assert "secret" in whole
    assert "gapdrift_service_requests_total{" in whole
    assert full_house.call(None, "GET", "/metrics").status_code == 401


def test_signs_of_life(full_house):
    assert full_house.client.get("/healthz").text == full_house.client.get("/readyz").text == "ok\n"
    paths = full_house.client.get("/api/openapi.json").json()["paths"]
    assert len(paths) > 20


def test_members_tokens_sinks_and_audit(full_house):
    call = full_house.call
    assert call("admin", "PUT", f"{OWN}/members", json={"name": "stranger", "role": "viewer"}).status_code == 204
    assert call("stranger", "GET", ORDERS).status_code == 200
    assert call("admin", "DELETE", f"{OWN}/members/stranger").status_code == 204
    assert call("stranger", "GET", ORDERS).status_code == 404
    made = call("admin", "POST", f"{OWN}/tokens", json={"name": "reader", "role": "viewer"}).json()
    header = {"authorization": f"Bearer {made['token']}"}
    assert full_house.client.get(ORDERS, headers=header).status_code == 200
    assert made["token"] not in json.dumps(call("admin", "GET", f"{OWN}/tokens").json())
    assert call("admin", "DELETE", f"{OWN}/tokens/{made['id']}").status_code == 204
    assert full_house.client.get(ORDERS, headers=header).status_code == 401
    lines = call("admin", "GET", f"{OWN}/audit").json()["items"]
    assert [line["action"] for line in lines[:3]] == ["token removed", "token created", "member changed"]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"name": "Orders"}, 422),
        ({"window": "2"}, 422),
        ({"window": "1h"}, 422),
        ({"false_alarm_every": "0"}, 422),
        ({"time_column": "x"}, 422),
        ({"name": "orders"}, 409),
    ],
)
def test_monitors_that_cannot_be_made(full_house, settings, code):
    answer = full_house.make_monitor(**{"name": "other", **settings})
    assert answer.status_code == code
    assert answer.json()["detail"]
    assert full_house.make_monitor(name="b", fitted=detector().count(rows(5, 1))).status_code == 422


def test_the_times_of_rows_are_their_own(house):
    house.make_monitor(window="1min", time_column="time")
    table = timed(70, 3)
    body = json.dumps([{name: _plain(table[name][place]) for name in table} for place in range(70)]).encode()
    headers = {"content-type": "application/json"}
    refused = house.call(
        "token", "POST", f"{ORDERS}/push", params={"start": START.isoformat()}, content=body, headers=headers
    )
    assert refused.status_code == 422
    answer = house.call("token", "POST", f"{ORDERS}/push", content=body, headers=headers).json()
    assert [window["n_rows"] for window in answer["windows"]] == [60]


def _plain(cell):
    if hasattr(cell, "isoformat"):
        return cell.isoformat()
    return None if cell is None or cell != cell else getattr(cell, "item", lambda: cell)()

"""Retries and reconnects, with a server that fails as told."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace

import httpx
import pytest

from offshoot import (
    ConfigurationError,
    ConnectionError,
    ForksLeftError,
    LimitError,
    NotFoundError,
    Offshoot,
    OffshootError,
    ServerError,
    _retry,
    explore,
)
from offshoot._sse import SseParser
from offshoot._sync import streams

Handler = Callable[[httpx.Request], httpx.Response]
INFO = {"id": "a", "status": "running"}


def client_of(*answers: httpx.Response | BaseException) -> tuple[Offshoot, list[httpx.Request]]:
    left, requests = list(answers), []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        answer = left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    http = httpx.Client(transport=httpx.MockTransport(handle))
    return Offshoot(base_url="http://server", api_key="ofs_key", http_client=http), requests


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retry, "_FIRST_DELAY_SECONDS", 0.0)


def test_repeats_a_create_with_the_same_key() -> None:
    client, requests = client_of(httpx.ReadError("broken"), httpx.Response(500), httpx.Response(201, json=INFO))
    assert client.sandboxes.create().id == "a"
    keys = {request.headers["idempotency-key"] for request in requests}
    assert (len(requests), len(keys)) == (3, 1)
    assert requests[0].headers["authorization"] == "Bearer ofs_key"


def steps_of(requests: list[httpx.Request]) -> list[str]:
    return [
        f"{each.method} {each.url.path}{' cancel' if 'idempotency-cancel' in each.headers else ''}" for each in requests
    ]


def test_deletes_what_a_create_without_an_answer_has_made() -> None:
    gone = httpx.Response(204)
    unfinished = httpx.Response(409, json={"error": "the first request with this idempotency key has not finished"})
    client, requests = client_of(KeyboardInterrupt(), unfinished, httpx.Response(201, json=INFO), gone)
    with pytest.raises(KeyboardInterrupt):
        client.sandboxes.create()
    client.close()
    cancel = "POST /v1/sandboxes cancel"
    assert steps_of(requests) == ["POST /v1/sandboxes", cancel, cancel, "DELETE /v1/sandboxes/a"]
    assert len({(each.headers["idempotency-key"], each.content) for each in requests[:3]}) == 1

    tree = httpx.Response(201, json={"children": [INFO, {**INFO, "id": "b"}]})
    client, requests = client_of(httpx.Response(200, json=INFO), KeyboardInterrupt(), tree, gone, gone)
    with pytest.raises(KeyboardInterrupt):
        client.sandboxes.get("x").fork(count=2)
    client.close()
    assert steps_of(requests)[3:] == ["DELETE /v1/sandboxes/a", "DELETE /v1/sandboxes/b"]


def test_cancels_a_create_that_has_made_nothing() -> None:
    cancelled = httpx.Response(409, json={"error": "the request with this idempotency key was cancelled"})
    client, requests = client_of(*[httpx.ReadError("broken")] * 5, cancelled)
    with pytest.raises(ConnectionError):
        client.sandboxes.create()
    client.close()
    assert steps_of(requests)[5:] == ["POST /v1/sandboxes cancel"]


def test_leaves_what_was_refused_or_has_a_key_of_the_caller() -> None:
    client, requests = client_of(
        httpx.Response(400), *[httpx.ConnectError("refused")] * 5, KeyboardInterrupt(), KeyboardInterrupt()
    )
    with pytest.raises(OffshootError):
        client.sandboxes.create()
    with pytest.raises(ConnectionError):
        client.sandboxes.create()
    with pytest.raises(KeyboardInterrupt):
        client.sandboxes.create(idempotency_key="mine")
    client.close()
    assert not any("cancel" in step for step in steps_of(requests))


def test_does_not_repeat_what_may_have_been_done() -> None:
    client, requests = client_of(httpx.ReadError("broken"))
    with pytest.raises(ConnectionError, match="broken"):
        client.request("POST /v1/anything", body={})
    client, requests = client_of(httpx.Response(500))
    with pytest.raises(ServerError):
        client.request("POST /v1/anything", body={})
    assert len(requests) == 1


def test_repeats_what_was_certainly_not_done() -> None:
    refused = httpx.Response(429, headers={"retry-after": "0"})
    client, requests = client_of(refused, httpx.ConnectError("refused"), httpx.Response(200, json={"done": True}))
    assert client.request("POST /v1/anything", body={}) == {"done": True}
    client, requests = client_of(httpx.Response(429, headers={"retry-after": "3600"}, json={"error": "later"}))
    with pytest.raises(LimitError, match="later"):
        client.request("GET /v1/anything")


def test_gives_up() -> None:
    client, requests = client_of(*[httpx.Response(503)] * 5)
    with pytest.raises(ServerError):
        client.request("GET /v1/anything")
    assert len(requests) == 5


def test_takes_a_delete_whose_answer_was_lost_for_done() -> None:
    client, requests = client_of(httpx.ReadError("broken"), httpx.Response(404, json={"error": "not found"}))
    client.request("DELETE /v1/sandboxes/{id}", path={"id": "a/b"})
    assert requests[1].url.raw_path == b"/v1/sandboxes/a%2Fb"


def test_follows_the_pages_of_a_list() -> None:
    following = {"link": '<http://elsewhere/v1/sandboxes?cursor=c>; rel="next"'}
    client, requests = client_of(
        httpx.Response(200, json=[INFO], headers=following), httpx.Response(200, json=[{**INFO, "id": "b"}])
    )
    assert [each.id for each in client.sandboxes.list(status=["running", "paused"])] == ["a", "b"]
    assert [str(request.url) for request in requests] == [
        "http://server/v1/sandboxes?status=running,paused",
        "http://server/v1/sandboxes?cursor=c",
    ]


def events(*numbers: int, kind: str = "x") -> bytes:
    return b"".join(b"id: %d\ndata: %s\n\n" % (number, json.dumps({"type": kind}).encode()) for number in numbers)


def test_continues_a_broken_stream_of_events() -> None:
    client, requests = client_of(
        httpx.Response(200, json=INFO),
        httpx.Response(200, content=events(1, 2) + b"id: 3\nda"),
        httpx.ReadError("broken"),
        httpx.Response(503),
        httpx.Response(200, content=events(3) + events(9, kind="events.dropped")),
        httpx.Response(200, content=events(4)),
        httpx.Response(404, json={"error": "not found"}),
    )
    seen = [number for number, _ in client.sandboxes.get("a").events(since=0)]
    assert seen == [1, 2, 3, 4]
    assert [request.headers.get("last-event-id") for request in requests[1:]] == [None, "2", "2", "2", "3", "4"]


def test_misses_no_new_event_of_a_sandbox() -> None:
    client, requests = client_of(
        httpx.Response(200, json=INFO),
        # The connection breaks after the last event of the past, which is not asked for.
        httpx.Response(200, content=events(6)),
        httpx.Response(200, content=events(7)),
    )
    assert next(client.sandboxes.get("a").events(tail=0))[0] == 7
    assert requests[2].headers["last-event-id"] == "6"


def test_follows_the_events_of_a_workspace_from_a_position() -> None:
    def event(number: str) -> dict[str, str]:
        return {"id": number, "type": "x"}

    broken = httpx.Response(200, content=b": no event yet\n\n")
    live = httpx.Response(200, content=b'id: 1-8\ndata: {"id": "1-8"}\n\n')
    client, requests = client_of(
        # Before the client follows, so that it has a position even if the stream breaks before its first event.
        httpx.Response(200, json=[event("1-6")]),
        httpx.Response(200, json=[event("1-4"), event("1-7")]),
        broken,
        live,
    )
    followed = client.events(type=["a.*", "b.c"], tail=2)
    assert [next(followed)["id"] for _ in range(3)] == ["1-4", "1-7", "1-8"]
    assert [str(request.url).partition("/v1/events")[2] for request in requests] == [
        "?tail=1",
        "?type=a.%2A,b.c&tail=2",
        "?type=a.%2A,b.c&follow=true",
        "?type=a.%2A,b.c&follow=true",
    ]
    assert [request.headers.get("last-event-id") for request in requests[2:]] == ["1-7", "1-7"]
    client, requests = client_of(httpx.Response(200, json=[]), live)
    assert next(client.events(tail=0))["id"] == "1-8"
    assert requests[1].url.params["since"] == "1970-01-01T00:00:00.000Z"


def test_follows_changes_and_says_when_to_read_everything() -> None:
    def stream(*names: str) -> httpx.Response:
        return httpx.Response(200, content="".join(names).encode())

    connected = "event: connected\ndata: {}\n\n"
    missed = "event: missed\ndata: {}\n\n"
    change = 'event: change\ndata: {"kind": "app", "id": "a"}\n\n'
    client, requests = client_of(
        stream(connected, change, missed, "event: later\ndata: {}\n\n"), stream(connected, change)
    )
    followed = client.changes()
    one = {"kind": "app", "id": "a"}
    assert [next(followed) for _ in range(5)] == ["everything", one, "everything", "everything", one]
    assert [request.url.path for request in requests] == ["/v1/changes", "/v1/changes"]


def test_follows_a_quiet_stream_for_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each look at the clock is an hour later, and the server ends a stream after an hour.
    hours = count(0, 3600)
    monkeypatch.setattr(streams, "time", SimpleNamespace(monotonic=lambda: next(hours)))
    quiet = [httpx.Response(200, content=b": \n\n") for _ in range(20)]
    client, _ = client_of(httpx.Response(200, json=INFO), *quiet, httpx.Response(200, content=events(1)))
    assert next(client.sandboxes.get("a").events(since=0))[0] == 1
    monkeypatch.setattr(streams, "time", SimpleNamespace(monotonic=lambda: 0.0))
    client, requests = client_of(httpx.Response(200, json=INFO), *quiet)
    with pytest.raises(ConnectionError, match="again and again"):
        next(client.sandboxes.get("a").events(since=0))
    assert len(requests) == 1 + 9


def test_follows_a_log_from_where_it_was_opened() -> None:
    client, requests = client_of(
        httpx.Response(200, json=INFO),
        httpx.Response(200, content=b": \n\n", headers={"last-event-id": "4"}),
        httpx.Response(200, content=b'id: 5\ndata: {"line": "new"}\n\n', headers={"last-event-id": "9"}),
        httpx.Response(404, json={"error": "not found"}),
    )
    assert [line["line"] for line in client.sandboxes.get("a").follow_logs(tail=0)] == ["new"]
    assert [request.headers.get("last-event-id") for request in requests[1:]] == [None, "4", "5"]


def test_says_that_a_watched_directory_is_gone() -> None:
    def seen(*answers: httpx.Response) -> list[str]:
        client, _ = client_of(httpx.Response(200, json=INFO), httpx.Response(200, content=b": \n\n"), *answers)
        with client.sandboxes.get("a").files.watch("/a") as changes:
            return [change.type for change in changes]

    assert seen(httpx.Response(200), httpx.Response(404, json={"error": "not found"})) == ["overflow"]
    with pytest.raises(NotFoundError):
        seen(httpx.Response(404, json={"error": "no such file or directory"}))


def test_knows_a_missing_path_from_a_missing_sandbox() -> None:
    missing = httpx.Response(404, json={"error": "no such file or directory"})
    client, _ = client_of(httpx.Response(200, json=INFO), missing, httpx.Response(404, json={"error": "not found"}))
    files = client.sandboxes.get("a").files
    assert not files.exists("/a")
    with pytest.raises(NotFoundError):
        files.exists("/a")


def test_says_that_a_watch_has_lost_changes() -> None:
    def change(path: str) -> bytes:
        return b"event: created\ndata: %s\n\n" % json.dumps({"path": path, "is_dir": False}).encode()

    client, requests = client_of(
        httpx.Response(200, json=INFO),
        httpx.Response(200, content=change("/a")),
        httpx.Response(503),
        httpx.Response(200, content=change("/b") + b'event: error\ndata: {"error": "the directory is gone"}\n\n'),
    )
    seen = []
    with (
        client.sandboxes.get("a").files.watch("/") as changes,
        pytest.raises(OffshootError, match="the directory is gone"),
    ):
        for each in changes:
            seen.append((each.type, each.path))
            # An overflow comes when the new watch is active.
            assert len(requests) == (2 if each.path == "/a" else 4)
    assert seen == [("created", "/a"), ("overflow", ""), ("created", "/b")]


def test_names_the_forks_that_a_search_has_left() -> None:
    client, _ = client_of(
        httpx.Response(200, json=INFO), httpx.Response(201, json={**INFO, "id": "fork"}), *[httpx.Response(403)] * 2
    )

    def rate(_: None, __: object) -> float:
        raise LookupError("no score")

    with pytest.raises(ForksLeftError, match="fork") as left:
        explore(client.sandboxes.get("a"), {"only": lambda _: None}, score=rate)
    assert left.value.sandbox_ids == ["fork"]
    assert isinstance(left.value.__cause__, LookupError)


def test_says_that_a_command_was_lost_with_its_connection() -> None:
    client, _ = client_of(
        httpx.Response(200, json=INFO), httpx.Response(200, content=b'event: stdout\ndata: {"chunk": "a"}\n\n')
    )
    with pytest.raises(ConnectionError, match="ended before the command"):
        client.sandboxes.get("a").exec("true")


def test_errors_have_what_is_needed_to_ask_for_help() -> None:
    client, _ = client_of(httpx.Response(404, json={"error": "not found"}, headers={"x-request-id": "r"}))
    with pytest.raises(NotFoundError) as raised:
        client.request("GET /v1/builds/{id}", path={"id": "a"}, query={"secret": "s"})
    error = pickle.loads(pickle.dumps(raised.value))
    assert (error.status, error.error, error.request_id, error.path) == (404, "not found", "r", "/v1/builds/a")
    assert str(error) == "404 not found [GET /v1/builds/a, request r]"


def test_refuses_impossible_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OFFSHOOT_API_KEY", raising=False)
    for options in (
        {},
        {"api_key": "a b"},
        {"api_key": "a", "base_url": "server"},
        {"api_key": "a", "timeout": 0},
        {"api_key": "a", "max_retries": -1},
    ):
        with pytest.raises(ConfigurationError):
            Offshoot(**options)
    assert "ofs_secret" not in repr(Offshoot(api_key="ofs_secret"))


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_parses_events_cut_anywhere(size: int) -> None:
    text = ": hello\r\n\r\nid: 1\r\nevent: a\r\ndata: ä\r\ndata:b\r\n\r\ndata\n\nid: 2\rdata: c\r\r".encode()
    parser = SseParser()
    found = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    assert [(each.event, each.data, each.id) for each in found] == [
        ("a", "ä\nb", "1"),
        ("message", "", "1"),
        ("message", "c", "2"),
    ]

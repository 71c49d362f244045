# Generated from _async by tools/generate.py. Do not edit.
"""Each function once, against a real server."""

from __future__ import annotations

import tarfile
import uuid
from pathlib import Path

import pytest
from typing_extensions import assert_type

from offshoot import (
    AuthenticationError,
    BadRequestError,
    CommandFailedError,
    CommandTimeoutError,
    ConflictError,
    ConnectionError,
    ExecResult,
    FileChange,
    MissingDataError,
    NotFoundError,
    Offshoot,
    OutputChunk,
    Sandbox,
    TimeoutError,
)

pytestmark = pytest.mark.anyio


def test_finds_and_lists_sandboxes(client: Offshoot, sandbox: Sandbox) -> None:
    assert sandbox.info["template"] == "minimal"
    assert sandbox.info["status"] == "running"
    found = client.sandboxes.get(sandbox.id)
    assert found.refresh() == found.info
    purpose = sandbox.info["metadata"]["purpose"]
    listed = client.sandboxes.list(metadata={"purpose": purpose}, status=["running", "paused"], limit=1).all()
    assert [each.id for each in listed] == [sandbox.id]
    assert client.sandboxes.list(metadata={"purpose": "none"}).first() is None
    with pytest.raises(NotFoundError):
        client.sandboxes.get(str(uuid.uuid4()))
    client.sandboxes.delete(str(uuid.uuid4()))
    # A sandbox that the program has only found stays.
    with found:
        pass
    assert (found.refresh())["status"] == "running"
    with pytest.raises(BadRequestError) as refused:
        client.sandboxes.create("minimal", ttl_seconds=-1)
    assert refused.value.status == 400
    assert refused.value.request_id


def test_refuses_a_wrong_key(client: Offshoot, sandbox: Sandbox) -> None:
    with Offshoot(base_url=client.base_url, api_key="ofs_unknown") as stranger:
        with pytest.raises(AuthenticationError):
            stranger.sandboxes.get(sandbox.id)


def test_runs_commands(sandbox: Sandbox) -> None:
    seen: list[OutputChunk[str]] = []
    result = sandbox.exec("echo $A_B; echo err >&2; exit 3", env={"A_B": "x"}, on_output=seen.append)
    assert_type(result, ExecResult)
    assert (result.stdout, result.stderr, result.exit_code, result.ok) == ("x\n", "err\n", 3, False)
    assert OutputChunk("stdout", "x\n") in seen
    with pytest.raises(CommandFailedError, match="exit code 3") as failed:
        sandbox.exec("exit 3", check=True)
    assert failed.value.result.exit_code == 3
    assert (sandbox.exec(["echo", "$HOME"], check=True)).stdout == "$HOME\n"
    assert (sandbox.exec("pwd; cat", cwd="/tmp", stdin="ä")).stdout == "/tmp\nä"
    assert (sandbox.exec("cat", stdin="ä".encode())).stdout == "ä"
    with pytest.raises(CommandTimeoutError) as late:
        sandbox.exec("echo begun; sleep 600", timeout_seconds=1)
    assert late.value.stdout == "begun\n"


def test_streams_output_and_kills_a_command_that_nobody_reads(sandbox: Sandbox) -> None:
    with sandbox.exec_stream("printf '\\377'; cat >&2", encoding="bytes", stdin="end") as output:
        chunks = [chunk for chunk in output]
    assert_type(chunks, "list[OutputChunk[bytes]]")
    assert OutputChunk("stdout", b"\xff") in chunks
    assert b"".join(chunk.data for chunk in chunks if chunk.stream == "stderr") == b"end"
    assert output.exit is not None and output.exit.exit_code == 0
    with sandbox.exec_stream("echo ready; sleep 7771") as left:
        for chunk in left:
            assert_type(chunk, OutputChunk[str])
            assert chunk.data == "ready\n"
            break
    assert left.exit is None
    for chunk in sandbox.exec_stream("echo ready; sleep 7771"):
        assert chunk.data == "ready\n"
        break
    sandbox.exec("while ps | grep '[s]leep 7771'; do sleep 0.1; done", timeout_seconds=60, check=True)


def test_starts_commands_that_outlive_the_connection(sandbox: Sandbox) -> None:
    command = sandbox.commands.start('while read line; do echo "got $line"; done', stdin_open=True)
    command.write("one\n")
    for chunk in command.output():
        assert (chunk.data, chunk.offset) == ("got one\n", 8)
        break
    with pytest.raises(TimeoutError):
        command.wait(timeout=0.1)
    again = sandbox.commands.get(command.id)
    assert again.pid == command.pid
    again.write(b"two\n")
    again.close_stdin()
    assert (again.wait())["exit_code"] == 0
    assert [chunk.data for chunk in again.output(offset=8)] == ["got two\n"]
    assert command.id in [each["exec_id"] for each in sandbox.commands.list()]
    with again:
        assert (again.info())["status"] == "exited"
    with pytest.raises(NotFoundError):
        again.info()

    sized = sandbox.commands.start("sleep 600", pty=(10, 20))
    sized.resize(rows=11, cols=21)
    sized.signal("SIGTERM")
    assert (sized.wait())["exit_code"] == 143
    sized.kill()
    sized.delete()


def test_says_which_output_is_lost(sandbox: Sandbox) -> None:
    command = sandbox.commands.start("head -c 3000000 /dev/zero | tr '\\0' x")
    command.wait()
    with pytest.raises(MissingDataError):
        for _ in command.output(offset=0):
            pass
    lost: list[int] = []
    read = 0
    for chunk in command.output(offset=0, encoding="bytes", on_gap=lambda start, end: lost.append(end - start)):
        read += len(chunk.data)
    assert read + sum(lost) == 3_000_000


def test_reads_writes_and_lists_files(sandbox: Sandbox, tmp_path: Path) -> None:
    files = sandbox.files
    assert (files.write("/data/a/text", "äb", mode=0o600))["bytes"] == 3
    assert files.read("/data/a/text") == "äb"
    assert files.read_bytes("/data/a/text", offset=2, length=1) == b"b"
    files.write("/tmp/empty", "")
    assert files.read_bytes("/tmp/empty", length=1) == b""
    assert files.read("/tmp/empty", offset=1) == ""
    local = tmp_path / "local"
    local.write_bytes(b"x" * 600_000)
    assert (files.write("/data/a/stream", local))["bytes"] == 600_000
    assert sum([len(block) for block in files.read_stream("/data/a/stream")]) == 600_000
    assert [each["path"] for each in files.list("/data", depth=2)] == [
        "/data/a",
        "/data/a/stream",
        "/data/a/text",
    ]
    files.mkdir("/data/b/c", mode="0700")
    files.move("/data/a/text", "/data/b/c/text")
    with pytest.raises(ConflictError):
        files.move("/data/b/c/text", "/data/a/stream")
    assert (files.stat("/data/b/c/text"))["mode"] == "0600"
    assert not files.exists("/data/a/text")
    assert files.exists("/data/b/c/text")
    files.remove("/data", recursive=True)
    with pytest.raises(NotFoundError):
        files.read("/data/b/c/text")


def test_copies_directories_both_ways(sandbox: Sandbox, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "empty").mkdir(parents=True)
    (source / "program").write_bytes(b"#!" + b"x" * 600_000)
    (source / "program").chmod(0o755)
    (source / "link").symlink_to("program")
    assert (sandbox.files.upload("/up", source))["path"] == "/up"
    sandbox.files.download("/up", tmp_path / "back")
    back = tmp_path / "back"
    assert (back / "program").read_bytes() == (source / "program").read_bytes()
    assert (back / "program").stat().st_mode & 0o777 == 0o755
    assert (back / "empty").is_dir()
    assert (back / "link").is_symlink()
    with pytest.raises(NotADirectoryError):
        sandbox.files.upload("/up", tmp_path / "missing")
    # What a sandbox holds cannot leave the directory that receives it.
    sandbox.exec("mkdir /evil && ln -s /etc/passwd /evil/out", check=True)
    with pytest.raises(tarfile.TarError):
        sandbox.files.download("/evil", tmp_path / "evil")


def test_watches_directories(sandbox: Sandbox) -> None:
    sandbox.files.mkdir("/watched/below")
    with sandbox.files.watch("/watched", recursive=True) as changes:
        sandbox.exec("cd /watched && touch below/a && mv below/a b && mkdir 'c\xff' && rm b", check=True)
        seen = []
        for change in changes:
            seen.append(change)
            if change.type == "deleted":
                break
    assert FileChange("created", "/watched/below/a") in seen
    assert FileChange("moved", "/watched/below/a", to="/watched/b") in seen
    assert FileChange("created", "/watched/c\xff", is_dir=True) in seen
    assert seen[-1] == FileChange("deleted", "/watched/b")
    with sandbox.files.watch("/watched"):
        pass
    with pytest.raises(NotFoundError):
        sandbox.files.watch("/missing")


def test_opens_terminals(sandbox: Sandbox) -> None:
    with sandbox.terminal("stty size; read line; echo got $line; exit 7", rows=20, cols=50) as terminal:
        shown = b""
        for data in terminal:
            shown += data
            if shown.count(b"\n") == 1:
                terminal.write("one\n")
        assert (shown, terminal.exit_code) == (b"20 50\r\none\r\ngot one\r\n", 7)
    with sandbox.terminal("trap 'stty size; exit 3' WINCH; echo up; while :; do sleep 0.1; done") as sized:
        for data in sized:
            assert data.startswith(b"up")
            break
        sized.resize(rows=30, cols=60)
        assert sized.wait() == 3
    with sandbox.terminal("sleep 7776"):
        sandbox.exec("until ps | grep '[s]leep 7776'; do sleep 0.1; done", timeout_seconds=60, check=True)
    sandbox.exec("while ps | grep '[s]leep 7776'; do sleep 0.1; done", timeout_seconds=60, check=True)
    with sandbox.terminal(session="kept") as first:
        first.write("kept=yes; echo set $kept\n")
        for data in first:
            if b"set yes" in data:
                break
    with sandbox.terminal(session="kept") as second:
        second.write("echo $kept; exit\n")
        assert b"yes" in b"".join([data for data in second])
    with pytest.raises(ConnectionError):
        second.write("x")
    with pytest.raises(BadRequestError, match="rows must be >= 1"):
        sandbox.terminal(rows=0)


def test_makes_private_previews(client: Offshoot) -> None:
    with client.sandboxes.create("minimal", visibility="private") as sandbox:
        link = sandbox.ports.links(3000).create(expires_in_seconds=60, label="review")
        assert link["token"] in link["url"]
        assert [each["id"] for each in sandbox.ports.links(3000).list().all()] == [link["id"]]
        sandbox.ports.links(3000).delete(link["id"])
        assert sandbox.ports.links(3000).list().all() == []
        assert (sandbox.update(visibility="public")).info["visibility"] == "public"


def test_gives_ports_an_address(sandbox: Sandbox) -> None:
    assert f"3000-{sandbox.id}" in sandbox.ports.url(3000)
    assert (sandbox.ports.add(3000, label="web"))["label"] == "web"
    with sandbox.commands.start(["nc", "-l", "-p", "3000"]):
        assert (sandbox.ports.wait(3000))["listening"]
    sandbox.ports.remove(3000)
    assert "web" not in [each["label"] for each in sandbox.ports.list()]
    with pytest.raises(TimeoutError):
        sandbox.ports.wait(3001, timeout=0)


def test_pauses_hibernates_and_wakes(sandbox: Sandbox) -> None:
    assert (sandbox.pause()).info["status"] == "paused"
    assert (sandbox.resume()).info["status"] == "running"
    assert (sandbox.hibernate()).info["status"] == "hibernated"
    assert (sandbox.wake()).info["status"] == "running"
    numbers = []
    for number, event in sandbox.events(since=0):
        numbers.append(number)
        if event["type"] == "sandbox.woken":
            break
    assert numbers == list(range(1, len(numbers) + 1))
    assert [each["type"] for each in sandbox.past_events(tail=1)] == ["sandbox.woken"]
    assert (sandbox.set_lifecycle(ttl_seconds=900, on_timeout="pause"))["on_timeout"] == "pause"
    assert (sandbox.lifecycle())["ttl_seconds"] == 900
    sandbox.exec("echo logged", check=True)
    lines = sandbox.logs(tail=5, stream="both")
    for line in sandbox.follow_logs(tail=1):
        assert line == lines[-1]
        break
    assert (sandbox.metrics(step=60))["now"]["disk_bytes"] > 0


def test_snapshots_and_forks(client: Offshoot, sandbox: Sandbox) -> None:
    sandbox.files.write("/tmp/mark", "parent")
    snapshot = sandbox.snapshot(name=f"python-{uuid.uuid4().hex[:8]}")
    with client.sandboxes.create("minimal", from_snapshot=snapshot["id"]) as copy:
        assert copy.files.read("/tmp/mark") == "parent"
    with pytest.raises(NotFoundError):
        copy.refresh()
    client.request("DELETE /v1/snapshots/{id}", path={"id": snapshot["id"]})
    with sandbox.fork(metadata={"role": "child"}) as child:
        assert child.info["metadata"] == {"role": "child"}
    with sandbox.fork(count=2) as children:
        winner, other = children.sandboxes
        assert (winner.promote())["deleted"] == [other.id]
        assert children.errors == []
        lineage = sandbox.lineage()
        assert (lineage["root_id"], lineage["truncated"]) == (sandbox.id, False)
        by_id = {node["id"]: node for node in lineage["nodes"]}
        assert by_id[winner.id]["promoted"] and by_id[other.id]["status"] == "deleted"
        assert by_id[copy.id]["parent_id"] == snapshot["id"]
    with pytest.raises(NotFoundError):
        winner.refresh()


def test_sends_requests_to_any_route(client: Offshoot, sandbox: Sandbox) -> None:
    templates = client.request("GET /v1/templates", query={"name": "minimal"})
    assert [each["name"] for each in templates] == ["minimal"]
    assert sandbox.id in [each["id"] for each in client.list("GET /v1/sandboxes", query={"limit": 1})]
    with pytest.raises(ValueError, match="id must not be"):
        client.request("GET /v1/builds/{id}", path={"id": ".."})
    with pytest.raises(ValueError, match="a route is"):
        client.request("/v1/builds")

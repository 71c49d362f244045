"""Each function once, against a real server."""

from __future__ import annotations

import tarfile
import uuid
from pathlib import Path

import pytest
from typing_extensions import assert_type

from offshoot import (
    AsyncOffshoot,
    AsyncSandbox,
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
    OutputChunk,
    TimeoutError,
)

pytestmark = pytest.mark.anyio


async def test_finds_and_lists_sandboxes(client: AsyncOffshoot, sandbox: AsyncSandbox) -> None:
    assert sandbox.info["template"] == "minimal"
    assert sandbox.info["status"] == "running"
    found = await client.sandboxes.get(sandbox.id)
    assert await found.refresh() == found.info
    purpose = sandbox.info["metadata"]["purpose"]
    listed = await client.sandboxes.list(metadata={"purpose": purpose}, status=["running", "paused"], limit=1).all()
    assert [each.id for each in listed] == [sandbox.id]
    assert await client.sandboxes.list(metadata={"purpose": "none"}).first() is None
    with pytest.raises(NotFoundError):
        await client.sandboxes.get(str(uuid.uuid4()))
    await client.sandboxes.delete(str(uuid.uuid4()))
    # A sandbox that the program has only found stays.
    async with found:
        pass
    assert (await found.refresh())["status"] == "running"
    with pytest.raises(BadRequestError) as refused:
        await client.sandboxes.create("minimal", ttl_seconds=-1)
    assert refused.value.status == 400
    assert refused.value.request_id


async def test_refuses_a_wrong_key(client: AsyncOffshoot, sandbox: AsyncSandbox) -> None:
    async with AsyncOffshoot(base_url=client.base_url, api_key="ofs_unknown") as stranger:
        with pytest.raises(AuthenticationError):
            await stranger.sandboxes.get(sandbox.id)


async def test_runs_commands(sandbox: AsyncSandbox) -> None:
    seen: list[OutputChunk[str]] = []
    result = await sandbox.exec("echo $A_B; echo err >&2; exit 3", env={"A_B": "x"}, on_output=seen.append)
    assert_type(result, ExecResult)
    assert (result.stdout, result.stderr, result.exit_code, result.ok) == ("x\n", "err\n", 3, False)
    assert OutputChunk("stdout", "x\n") in seen
    with pytest.raises(CommandFailedError, match="exit code 3") as failed:
        await sandbox.exec("exit 3", check=True)
    assert failed.value.result.exit_code == 3
    assert (await sandbox.exec(["echo", "$HOME"], check=True)).stdout == "$HOME\n"
    assert (await sandbox.exec("pwd; cat", cwd="/tmp", stdin="ä")).stdout == "/tmp\nä"
    assert (await sandbox.exec("cat", stdin="ä".encode())).stdout == "ä"
    with pytest.raises(CommandTimeoutError) as late:
        await sandbox.exec("echo begun; sleep 600", timeout_seconds=1)
    assert late.value.stdout == "begun\n"


async def test_streams_output_and_kills_a_command_that_nobody_reads(sandbox: AsyncSandbox) -> None:
    async with sandbox.exec_stream("printf '\\377'; cat >&2", encoding="bytes", stdin="end") as output:
        chunks = [chunk async for chunk in output]
    assert_type(chunks, "list[OutputChunk[bytes]]")
    assert OutputChunk("stdout", b"\xff") in chunks
    assert b"".join(chunk.data for chunk in chunks if chunk.stream == "stderr") == b"end"
    assert output.exit is not None and output.exit.exit_code == 0
    async with sandbox.exec_stream("echo ready; sleep 7771") as left:
        async for chunk in left:
            assert_type(chunk, OutputChunk[str])
            assert chunk.data == "ready\n"
            break
    assert left.exit is None
    async for chunk in sandbox.exec_stream("echo ready; sleep 7771"):
        assert chunk.data == "ready\n"
        break
    await sandbox.exec("while ps | grep '[s]leep 7771'; do sleep 0.1; done", timeout_seconds=60, check=True)


async def test_starts_commands_that_outlive_the_connection(sandbox: AsyncSandbox) -> None:
    command = await sandbox.commands.start('while read line; do echo "got $line"; done', stdin_open=True)
    await command.write("one\n")
    async for chunk in command.output():
        assert (chunk.data, chunk.offset) == ("got one\n", 8)
        break
    with pytest.raises(TimeoutError):
        await command.wait(timeout=0.1)
    again = await sandbox.commands.get(command.id)
    assert again.pid == command.pid
    await again.write(b"two\n")
    await again.close_stdin()
    assert (await again.wait())["exit_code"] == 0
    assert [chunk.data async for chunk in again.output(offset=8)] == ["got two\n"]
    assert command.id in [each["exec_id"] for each in await sandbox.commands.list()]
    async with again:
        assert (await again.info())["status"] == "exited"
    with pytest.raises(NotFoundError):
        await again.info()

    sized = await sandbox.commands.start("sleep 600", pty=(10, 20))
    await sized.resize(rows=11, cols=21)
    await sized.signal("SIGTERM")
    assert (await sized.wait())["exit_code"] == 143
    await sized.kill()
    await sized.delete()


async def test_says_which_output_is_lost(sandbox: AsyncSandbox) -> None:
    command = await sandbox.commands.start("head -c 3000000 /dev/zero | tr '\\0' x")
    await command.wait()
    with pytest.raises(MissingDataError):
        async for _ in command.output(offset=0):
            pass
    lost: list[int] = []
    read = 0
    async for chunk in command.output(offset=0, encoding="bytes", on_gap=lambda start, end: lost.append(end - start)):
        read += len(chunk.data)
    assert read + sum(lost) == 3_000_000


async def test_reads_writes_and_lists_files(sandbox: AsyncSandbox, tmp_path: Path) -> None:
    files = sandbox.files
    assert (await files.write("/data/a/text", "äb", mode=0o600))["bytes"] == 3
    assert await files.read("/data/a/text") == "äb"
    assert await files.read_bytes("/data/a/text", offset=2, length=1) == b"b"
    await files.write("/tmp/empty", "")
    assert await files.read_bytes("/tmp/empty", length=1) == b""
    assert await files.read("/tmp/empty", offset=1) == ""
    local = tmp_path / "local"
    local.write_bytes(b"x" * 600_000)
    assert (await files.write("/data/a/stream", local))["bytes"] == 600_000
    assert sum([len(block) async for block in files.read_stream("/data/a/stream")]) == 600_000
    assert [each["path"] for each in await files.list("/data", depth=2)] == [
        "/data/a",
        "/data/a/stream",
        "/data/a/text",
    ]
    await files.mkdir("/data/b/c", mode="0700")
    await files.move("/data/a/text", "/data/b/c/text")
    with pytest.raises(ConflictError):
        await files.move("/data/b/c/text", "/data/a/stream")
    assert (await files.stat("/data/b/c/text"))["mode"] == "0600"
    assert not await files.exists("/data/a/text")
    assert await files.exists("/data/b/c/text")
    await files.remove("/data", recursive=True)
    with pytest.raises(NotFoundError):
        await files.read("/data/b/c/text")


async def test_copies_directories_both_ways(sandbox: AsyncSandbox, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "empty").mkdir(parents=True)
    (source / "program").write_bytes(b"#!" + b"x" * 600_000)
    (source / "program").chmod(0o755)
    (source / "link").symlink_to("program")
    assert (await sandbox.files.upload("/up", source))["path"] == "/up"
    await sandbox.files.download("/up", tmp_path / "back")
    back = tmp_path / "back"
    assert (back / "program").read_bytes() == (source / "program").read_bytes()
    assert (back / "program").stat().st_mode & 0o777 == 0o755
    assert (back / "empty").is_dir()
    assert (back / "link").is_symlink()
    with pytest.raises(NotADirectoryError):
        await sandbox.files.upload("/up", tmp_path / "missing")
    # What a sandbox holds cannot leave the directory that receives it.
    await sandbox.exec("mkdir /evil && ln -s /etc/passwd /evil/out", check=True)
    with pytest.raises(tarfile.TarError):
        await sandbox.files.download("/evil", tmp_path / "evil")


async def test_watches_directories(sandbox: AsyncSandbox) -> None:
    await sandbox.files.mkdir("/watched/below")
    async with await sandbox.files.watch("/watched", recursive=True) as changes:
        await sandbox.exec("cd /watched && touch below/a && mv below/a b && mkdir 'c\xff' && rm b", check=True)
        seen = []
        async for change in changes:
            seen.append(change)
            if change.type == "deleted":
                break
    assert FileChange("created", "/watched/below/a") in seen
    assert FileChange("moved", "/watched/below/a", to="/watched/b") in seen
    assert FileChange("created", "/watched/c\xff", is_dir=True) in seen
    assert seen[-1] == FileChange("deleted", "/watched/b")
    async with await sandbox.files.watch("/watched"):
        pass
    with pytest.raises(NotFoundError):
        await sandbox.files.watch("/missing")


async def test_opens_terminals(sandbox: AsyncSandbox) -> None:
    async with await sandbox.terminal("stty size; read line; echo got $line; exit 7", rows=20, cols=50) as terminal:
        shown = b""
        async for data in terminal:
            shown += data
            if shown.count(b"\n") == 1:
                await terminal.write("one\n")
        assert (shown, terminal.exit_code) == (b"20 50\r\none\r\ngot one\r\n", 7)
    async with await sandbox.terminal("trap 'stty size; exit 3' WINCH; echo up; while :; do sleep 0.1; done") as sized:
        async for data in sized:
            assert data.startswith(b"up")
            break
        await sized.resize(rows=30, cols=60)
        assert await sized.wait() == 3
    async with await sandbox.terminal("sleep 7776"):
        await sandbox.exec("until ps | grep '[s]leep 7776'; do sleep 0.1; done", timeout_seconds=60, check=True)
    await sandbox.exec("while ps | grep '[s]leep 7776'; do sleep 0.1; done", timeout_seconds=60, check=True)
    async with await sandbox.terminal(session="kept") as first:
        await first.write("kept=yes; echo set $kept\n")
        async for data in first:
            if b"set yes" in data:
                break
    async with await sandbox.terminal(session="kept") as second:
        await second.write("echo $kept; exit\n")
        assert b"yes" in b"".join([data async for data in second])
    with pytest.raises(ConnectionError):
        await second.write("x")
    with pytest.raises(BadRequestError, match="rows must be >= 1"):
        await sandbox.terminal(rows=0)


async def test_makes_private_previews(client: AsyncOffshoot) -> None:
    async with await client.sandboxes.create("minimal", visibility="private") as sandbox:
        link = await sandbox.ports.links(3000).create(expires_in_seconds=60, label="review")
        assert link["token"] in link["url"]
        assert [each["id"] for each in await sandbox.ports.links(3000).list().all()] == [link["id"]]
        await sandbox.ports.links(3000).delete(link["id"])
        assert await sandbox.ports.links(3000).list().all() == []
        assert (await sandbox.update(visibility="public")).info["visibility"] == "public"


async def test_gives_ports_an_address(sandbox: AsyncSandbox) -> None:
    assert f"3000-{sandbox.id}" in await sandbox.ports.url(3000)
    assert (await sandbox.ports.add(3000, label="web"))["label"] == "web"
    async with await sandbox.commands.start(["nc", "-l", "-p", "3000"]):
        assert (await sandbox.ports.wait(3000))["listening"]
    await sandbox.ports.remove(3000)
    assert "web" not in [each["label"] for each in await sandbox.ports.list()]
    with pytest.raises(TimeoutError):
        await sandbox.ports.wait(3001, timeout=0)


async def test_pauses_hibernates_and_wakes(sandbox: AsyncSandbox) -> None:
    assert (await sandbox.pause()).info["status"] == "paused"
    assert (await sandbox.resume()).info["status"] == "running"
    assert (await sandbox.hibernate()).info["status"] == "hibernated"
    assert (await sandbox.wake()).info["status"] == "running"
    numbers = []
    async for number, event in sandbox.events(since=0):
        numbers.append(number)
        if event["type"] == "sandbox.woken":
            break
    assert numbers == list(range(1, len(numbers) + 1))
    assert [each["type"] for each in await sandbox.past_events(tail=1)] == ["sandbox.woken"]
    assert (await sandbox.set_lifecycle(ttl_seconds=900, on_timeout="pause"))["on_timeout"] == "pause"
    assert (await sandbox.lifecycle())["ttl_seconds"] == 900
    await sandbox.exec("echo logged", check=True)
    lines = await sandbox.logs(tail=5, stream="both")
    async for line in sandbox.follow_logs(tail=1):
        assert line == lines[-1]
        break
    assert (await sandbox.metrics(step=60))["now"]["disk_bytes"] > 0


async def test_snapshots_and_forks(client: AsyncOffshoot, sandbox: AsyncSandbox) -> None:
    await sandbox.files.write("/tmp/mark", "parent")
    snapshot = await sandbox.snapshot(name=f"python-{uuid.uuid4().hex[:8]}")
    async with await client.sandboxes.create("minimal", from_snapshot=snapshot["id"]) as copy:
        assert await copy.files.read("/tmp/mark") == "parent"
    with pytest.raises(NotFoundError):
        await copy.refresh()
    await client.request("DELETE /v1/snapshots/{id}", path={"id": snapshot["id"]})
    async with await sandbox.fork(metadata={"role": "child"}) as child:
        assert child.info["metadata"] == {"role": "child"}
    async with await sandbox.fork(count=2) as children:
        winner, other = children.sandboxes
        assert (await winner.promote())["deleted"] == [other.id]
        assert children.errors == []
        lineage = await sandbox.lineage()
        assert (lineage["root_id"], lineage["truncated"]) == (sandbox.id, False)
        by_id = {node["id"]: node for node in lineage["nodes"]}
        assert by_id[winner.id]["promoted"] and by_id[other.id]["status"] == "deleted"
        assert by_id[copy.id]["parent_id"] == snapshot["id"]
    with pytest.raises(NotFoundError):
        await winner.refresh()


async def test_sends_requests_to_any_route(client: AsyncOffshoot, sandbox: AsyncSandbox) -> None:
    templates = await client.request("GET /v1/templates", query={"name": "minimal"})
    assert [each["name"] for each in templates] == ["minimal"]
    assert sandbox.id in [each["id"] async for each in client.list("GET /v1/sandboxes", query={"limit": 1})]
    with pytest.raises(ValueError, match="id must not be"):
        await client.request("GET /v1/builds/{id}", path={"id": ".."})
    with pytest.raises(ValueError, match="a route is"):
        await client.request("/v1/builds")

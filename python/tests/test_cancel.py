"""Cancelling ends the work inside of the sandbox."""

from __future__ import annotations

import asyncio
import signal
import threading
import uuid

import httpx
import pytest

from offshoot import AsyncOffshoot, AsyncSandbox, Offshoot, OutputChunk, Sandbox, explore


def test_cancelling_a_call_kills_its_command() -> None:
    async def run() -> None:
        async with AsyncOffshoot() as client, await client.sandboxes.create("minimal", ttl_seconds=600) as sandbox:
            has_begun = asyncio.Event()

            def begin(_: OutputChunk[str]) -> None:
                has_begun.set()

            call = asyncio.create_task(sandbox.exec("echo begun; sleep 7772", on_output=begin))
            await asyncio.wait_for(has_begun.wait(), 60)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await sandbox.exec("while ps | grep '[s]leep 7772'; do sleep 0.1; done", timeout_seconds=60, check=True)

    asyncio.run(run())


def test_cancelling_a_create_deletes_its_sandbox() -> None:
    async def cancel(response: httpx.Response) -> None:
        task = asyncio.current_task()
        if task is not None and response.request.method == "POST" and not cancelled:
            cancelled.append(response.status_code)
            task.cancel()

    cancelled: list[int] = []

    async def run() -> None:
        tag = {"purpose": uuid.uuid4().hex}
        # The sandbox is there, and its id does not arrive.
        http = httpx.AsyncClient(event_hooks={"response": [cancel]})
        async with http, AsyncOffshoot(http_client=http) as client:
            with pytest.raises(asyncio.CancelledError):
                await client.sandboxes.create("minimal", metadata=tag)
        assert cancelled == [201]
        async with AsyncOffshoot() as client:
            assert [each.id async for each in client.sandboxes.list(metadata=tag)] == []

    asyncio.run(run())


def test_cancelling_a_search_deletes_its_forks() -> None:
    async def run() -> None:
        tag = {"purpose": uuid.uuid4().hex}
        async with AsyncOffshoot() as client, await client.sandboxes.create("minimal", metadata=tag) as sandbox:
            has_begun = asyncio.Event()
            was_cancelled = asyncio.Event()

            async def sleep_long(fork: AsyncSandbox) -> None:
                try:
                    await fork.exec("echo begun; sleep 7774", on_output=lambda _: has_begun.set())
                except asyncio.CancelledError:
                    was_cancelled.set()
                    raise

            async def search() -> None:
                await explore(sandbox, {"a": sleep_long, "b": sleep_long}, score=lambda _, __: 1)

            call = asyncio.create_task(search())
            await asyncio.wait_for(has_begun.wait(), 60)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert was_cancelled.is_set()
            assert [each.id async for each in client.sandboxes.list(metadata=tag)] == [sandbox.id]

    asyncio.run(run())


def test_ctrl_c_deletes_the_forks_of_a_search() -> None:
    tag = {"purpose": uuid.uuid4().hex}
    with Offshoot() as client, client.sandboxes.create("minimal", metadata=tag, ttl_seconds=600) as sandbox:
        has_ended = threading.Event()
        main = threading.get_ident()

        def sleep_long(fork: Sandbox) -> None:
            try:
                fork.exec("echo begun; sleep 7775", on_output=lambda _: signal.pthread_kill(main, signal.SIGINT))
            finally:
                has_ended.set()

        with pytest.raises(KeyboardInterrupt):
            explore(sandbox, {"slow": sleep_long}, score=lambda _, __: 1)
        assert [each.id for each in client.sandboxes.list(metadata=tag)] == [sandbox.id]
        # The deleted fork has ended the call, too.
        assert has_ended.wait(60)

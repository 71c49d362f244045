"""Cancelling ends the work inside of the sandbox."""

from __future__ import annotations

import asyncio

import pytest

from offshoot import AsyncOffshoot, OutputChunk


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
            await sandbox.exec("while pgrep -f '[s]leep 7772'; do sleep 0.1; done", timeout_seconds=60, check=True)

    asyncio.run(run())

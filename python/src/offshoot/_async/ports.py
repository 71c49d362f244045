"""TCP ports of a sandbox."""

from __future__ import annotations

import time

from .._values import given
from ..errors import TimeoutError
from ..types import Port
from . import _platform
from .links import AsyncLinks
from .scope import AsyncScope

LOOK_SECONDS = 0.25
"""Between two looks at a port."""


class AsyncPorts:
    """The TCP ports of a sandbox, each with an address for browsers."""

    def __init__(self, scope: AsyncScope) -> None:
        self._scope = scope

    async def list(self) -> list[Port]:
        """The ports that have a label, and those on which something listens."""
        ports: list[Port] = await self._scope.get("/ports")
        return ports

    async def url(self, port: int) -> str:
        """The address of a port, whether something listens on it or not. Adds the port if it is not listed."""
        for each in await self.list():
            if each["port"] == port:
                return each["url"]
        return (await self.add(port))["url"]

    async def add(self, port: int, *, label: str | None = None) -> Port:
        """Lists a port, with a label for people."""
        added: Port = await self._scope.post("/ports", given({"port": port, "label": label}), idempotent=True)
        return added

    def links(self, port: int) -> AsyncLinks:
        """The links that open the port while the sandbox's ``visibility`` is ``private``."""
        return AsyncLinks(self._scope.below("ports", str(port)))

    async def remove(self, port: int) -> None:
        """Removes the label of a port. What listens on it stays."""
        await self._scope.delete(f"/ports/{port:d}")

    async def wait(self, port: int, *, timeout: float = 60.0) -> Port:
        """Waits until something listens on a port.

        :raises TimeoutError: nothing listens after ``timeout`` seconds
        """
        end = time.monotonic() + timeout
        while True:
            for each in await self.list():
                if each["port"] == port and each["listening"]:
                    return each
            if time.monotonic() > end:
                raise TimeoutError(f"nothing listens on port {port} after {timeout} seconds")
            await _platform.sleep(LOOK_SECONDS)

"""One sandbox for all tests of a folder. The server comes from OFFSHOOT_BASE_URL, OFFSHOOT_API_KEY, OFFSHOOT_TEST_JWT
and OFFSHOOT_TEST_MAIL, the directory of its mails."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator

import pytest

from offshoot import AsyncOffshoot, AsyncSandbox


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="package")
async def client(anyio_backend: str) -> AsyncIterator[AsyncOffshoot]:
    async with AsyncOffshoot() as client:
        yield client


@pytest.fixture(scope="package")
async def user(anyio_backend: str) -> AsyncIterator[AsyncOffshoot]:
    """A client with the token of a user."""
    async with AsyncOffshoot(api_key=os.environ["OFFSHOOT_TEST_JWT"]) as user:
        yield user


@pytest.fixture
async def newcomer(client: AsyncOffshoot) -> AsyncIterator[AsyncOffshoot]:
    """A client with the token of a user who has just signed up."""
    person = {"email": f"{uuid.uuid4().hex}@example.com", "password": uuid.uuid4().hex, "name": "Ina"}
    session = (await client.request("POST /api/auth/sign-up/email", body=person))["token"]
    async with AsyncOffshoot(api_key=session) as signed_in:
        token = (await signed_in.request("GET /api/auth/token"))["token"]
    async with AsyncOffshoot(api_key=token) as newcomer:
        yield newcomer


@pytest.fixture(scope="package")
async def sandbox(client: AsyncOffshoot) -> AsyncIterator[AsyncSandbox]:
    async with await client.sandboxes.create(
        "minimal", metadata={"purpose": uuid.uuid4().hex}, ttl_seconds=900
    ) as sandbox:
        yield sandbox
    with pytest.raises(Exception, match="404"):
        await sandbox.refresh()

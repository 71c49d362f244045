"""API keys, and how users enter sandboxes by SSH."""

from __future__ import annotations

from collections.abc import Sequence

from .._values import QueryValue, given
from ..types import AccessToken, CreatedToken, SshCertificate, SshGateway, SshKey, Token
from ..types import Scope as KeyScope
from .lists import AsyncList
from .resource import delete_if_there
from .scope import AsyncScope
from .transport import AsyncTransport


class AsyncKeys:
    """The API keys of a workspace. Only the token of a user may use them, so a key cannot make keys."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._scope = AsyncScope(transport, "/v1/me/tokens")

    async def create(
        self,
        *,
        name: str | None = None,
        expires_in_days: int | None = None,
        scopes: Sequence[KeyScope] | None = None,
        idempotency_key: str | None = None,
    ) -> CreatedToken:
        """Makes a key. Keep its ``token``: only this answer has it.

        :param scopes: what the key may do; default: everything
        """
        fields = {"name": name, "expires_in_days": expires_in_days, "scopes": None if scopes is None else list(scopes)}
        key: CreatedToken = await self._scope.post("", given(fields), creates=True, idempotency_key=idempotency_key)
        return key

    def list(
        self,
        *,
        name: str | None = None,
        created_by: str | None = None,
        expired: bool | None = None,
        limit: int | None = None,
    ) -> AsyncList[Token]:
        """The keys without their secrets, newest first."""
        query: dict[str, QueryValue] = {"name": name, "created_by": created_by, "expired": expired, "limit": limit}
        return self._scope.list("", query)

    async def delete(self, prefix: str) -> None:
        """Revokes a key by its prefix, ``ofs_`` and 8 characters. It is no error if there is none."""
        await delete_if_there(self._scope.below(prefix))

    async def delete_all(self) -> None:
        """Revokes all keys that the user has made."""
        await self._scope.delete()

    async def create_access_token(
        self, *, expires_in_seconds: int | None = None, scopes: Sequence[KeyScope] | None = None
    ) -> AccessToken:
        """Makes a token of at most an hour for one workspace, with fewer rights."""
        fields = {"expires_in_seconds": expires_in_seconds, "scopes": None if scopes is None else list(scopes)}
        tokens = AsyncScope(self._scope.transport, "/v1/me/access-tokens")
        token: AccessToken = await tokens.post("", given(fields))
        return token


class AsyncSsh:
    """How a user enters sandboxes by SSH."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._scope = AsyncScope(transport, "/v1/me/ssh-keys")
        self._root = AsyncScope(transport, "/v1")

    async def gateway(self) -> SshGateway:
        """Where ``ssh ID@HOST`` leads, and the key by which one recognizes it."""
        gateway: SshGateway = await self._root.get("/ssh")
        return gateway

    async def create_certificate(self, public_key: str) -> SshCertificate:
        """Signs a public key for an hour."""
        certificate: SshCertificate = await self._root.post("/ssh-certificates", {"public_key": public_key})
        return certificate

    async def add_key(self, public_key: str, *, name: str | None = None) -> SshKey:
        """Lets a public key in, as it stands in a file ``.pub``.

        :raises ConflictError: it is known
        """
        key: SshKey = await self._scope.post("", given({"public_key": public_key, "name": name}))
        return key

    def keys(self, *, fingerprint: str | None = None, limit: int | None = None) -> AsyncList[SshKey]:
        """The user's keys, newest first."""
        return self._scope.list("", {"fingerprint": fingerprint, "limit": limit})

    async def delete_key(self, key_id: str) -> None:
        """Removes a key. It is no error if there is none."""
        await delete_if_there(self._scope.below(key_id))

# Generated from _async by tools/generate.py. Do not edit.
"""API keys, and how users enter sandboxes by SSH."""

from __future__ import annotations

from collections.abc import Sequence

from .._values import QueryValue, given
from ..types import AccessToken, CreatedToken, SshCertificate, SshGateway, SshKey, Token
from ..types import Scope as KeyScope
from .lists import List
from .resource import delete_if_there
from .scope import Scope
from .transport import Transport


class Keys:
    """The API keys of a workspace. Only the token of a user may use them, so a key cannot make keys."""

    def __init__(self, transport: Transport) -> None:
        self._scope = Scope(transport, "/v1/me/tokens")

    def create(
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
        key: CreatedToken = self._scope.post("", given(fields), creates=True, idempotency_key=idempotency_key)
        return key

    def list(
        self,
        *,
        name: str | None = None,
        created_by: str | None = None,
        expired: bool | None = None,
        limit: int | None = None,
    ) -> List[Token]:
        """The keys without their secrets, newest first."""
        query: dict[str, QueryValue] = {"name": name, "created_by": created_by, "expired": expired, "limit": limit}
        return self._scope.list("", query)

    def delete(self, prefix: str) -> None:
        """Revokes a key by its prefix, ``ofs_`` and 8 characters. It is no error if there is none."""
        delete_if_there(self._scope.below(prefix))

    def delete_all(self) -> None:
        """Revokes all keys that the user has made."""
        self._scope.delete()

    def create_access_token(
        self, *, expires_in_seconds: int | None = None, scopes: Sequence[KeyScope] | None = None
    ) -> AccessToken:
        """Makes a token of at most an hour for one workspace, with fewer rights."""
        fields = {"expires_in_seconds": expires_in_seconds, "scopes": None if scopes is None else list(scopes)}
        tokens = Scope(self._scope.transport, "/v1/me/access-tokens")
        token: AccessToken = tokens.post("", given(fields))
        return token


class Ssh:
    """How a user enters sandboxes by SSH."""

    def __init__(self, transport: Transport) -> None:
        self._scope = Scope(transport, "/v1/me/ssh-keys")
        self._root = Scope(transport, "/v1")

    def gateway(self) -> SshGateway:
        """Where ``ssh ID@HOST`` leads, and the key by which one recognizes it."""
        gateway: SshGateway = self._root.get("/ssh")
        return gateway

    def create_certificate(self, public_key: str) -> SshCertificate:
        """Signs a public key for an hour."""
        certificate: SshCertificate = self._root.post("/ssh-certificates", {"public_key": public_key})
        return certificate

    def add_key(self, public_key: str, *, name: str | None = None) -> SshKey:
        """Lets a public key in, as it stands in a file ``.pub``.

        :raises ConflictError: it is known
        """
        key: SshKey = self._scope.post("", given({"public_key": public_key, "name": name}))
        return key

    def keys(self, *, fingerprint: str | None = None, limit: int | None = None) -> List[SshKey]:
        """The user's keys, newest first."""
        return self._scope.list("", {"fingerprint": fingerprint, "limit": limit})

    def delete_key(self, key_id: str) -> None:
        """Removes a key. It is no error if there is none."""
        delete_if_there(self._scope.below(key_id))

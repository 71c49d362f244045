"""The client."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal

from .._config import make_config
from .._values import QueryValue, given, path_segment
from ..types import Change, Me, SandboxStatus, Usage, Visibility, WorkspaceEvent
from . import _platform
from .apps import AsyncApps
from .changes import follow_changes
from .databases import AsyncDatabases
from .events import PATH as EVENTS_PATH
from .events import event_query, follow_events
from .keys import AsyncKeys, AsyncSsh
from .lists import AsyncList
from .resource import delete_if_there
from .sandbox import AsyncSandbox
from .scope import AsyncScope
from .snapshots import AsyncSnapshots
from .templates import AsyncTemplates
from .transport import AsyncTransport
from .volumes import AsyncVolumes
from .webhooks import AsyncWebhooks
from .workspaces import AsyncWorkspaces


class AsyncSandboxes:
    """The sandboxes of a workspace."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._scope = AsyncScope(transport, "/v1/sandboxes")

    async def create(
        self,
        template: str | None = None,
        *,
        from_snapshot: str | None = None,
        env: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        ttl_seconds: int | None = None,
        on_timeout: Literal["delete", "pause"] | None = None,
        persistent: bool | None = None,
        idle_timeout_seconds: int | None = None,
        network: Mapping[str, Any] | None = None,
        volumes: Sequence[Mapping[str, Any]] | None = None,
        visibility: Visibility | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncSandbox:
        """Makes a sandbox and waits until it runs. A retry never makes a second one.

        :param template: default: ``base``, or that of the snapshot
        """
        fields = {
            "template": template or (None if from_snapshot else "base"),
            "from_snapshot": from_snapshot,
            "env": env,
            "metadata": metadata,
            "ttl_seconds": ttl_seconds,
            "on_timeout": on_timeout,
            "persistent": persistent,
            "idle_timeout_seconds": idle_timeout_seconds,
            "network": network,
            "volumes": volumes,
            "visibility": visibility,
        }
        info = await self._scope.post("", given(fields), creates=True, idempotency_key=idempotency_key)
        return AsyncSandbox(self._transport, info, is_owned=True)

    async def get(self, sandbox_id: str) -> AsyncSandbox:
        """
        :raises NotFoundError: there is none
        """
        return AsyncSandbox(self._transport, await self._scope.below(sandbox_id).get(), is_owned=False)

    def list(
        self,
        *,
        template: str | None = None,
        status: SandboxStatus | Sequence[SandboxStatus] | None = None,
        metadata: Mapping[str, str] | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        order: Literal["asc", "desc"] | None = None,
        limit: int | None = None,
    ) -> AsyncList[AsyncSandbox]:
        """The sandboxes, newest first.

        :param metadata: only sandboxes that have all of these tags
        :param limit: entries of one page
        """
        query: dict[str, QueryValue] = {
            "template": template,
            "status": status,
            "created_after": created_after,
            "created_before": created_before,
            "order": order,
            "limit": limit,
        }
        query.update({f"metadata.{name}": value for name, value in (metadata or {}).items()})
        return AsyncList(
            self._transport, "/v1/sandboxes", query, lambda info: AsyncSandbox(self._transport, info, is_owned=False)
        )

    async def delete(self, sandbox_id: str) -> None:
        """Deletes a sandbox by its id. It is no error if there is none."""
        await delete_if_there(self._scope.below(sandbox_id))


class AsyncOffshoot:
    """A client of one service, for one credential. ``with`` closes its connections.

    :param base_url: default: ``OFFSHOOT_BASE_URL``, else ``http://127.0.0.1:8080``
    :param api_key: an API key or the token of a user; default: ``OFFSHOOT_API_KEY``
    :param org: the workspace, for the token of a user who has several
    :param timeout: seconds to wait for an answer; default: 120
    :param max_retries: default: 4
    :raises ConfigurationError: there is no key, or an option has an impossible value
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        org: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        http_client: _platform.HttpClient | None = None,
    ) -> None:
        config = make_config(base_url, api_key, timeout, max_retries, org)
        self._transport = AsyncTransport(config, http_client)
        self.base_url = config.base_url
        self.sandboxes = AsyncSandboxes(self._transport)
        self.snapshots = AsyncSnapshots(self._transport)
        self.templates = AsyncTemplates(self._transport)
        self.databases = AsyncDatabases(self._transport)
        self.volumes = AsyncVolumes(self._transport)
        self.apps = AsyncApps(self._transport)
        self.webhooks = AsyncWebhooks(self._transport)
        self.keys = AsyncKeys(self._transport)
        self.ssh = AsyncSsh(self._transport)
        self.workspaces = AsyncWorkspaces(self._transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"

    async def __aenter__(self) -> AsyncOffshoot:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def me(self) -> Me:
        """The user and the workspace of the credential."""
        me: Me = await self._transport.json("GET", "/v1/me")
        return me

    async def usage(
        self,
        *,
        begin: str | None = None,
        end: str | None = None,
        group_by: Literal["sandbox", "template", "app", "database", "day"] | None = None,
    ) -> Usage:
        """What the workspace has used, in seconds and money.

        :param begin: the first day, such as ``2026-03-01``; default: the first of this month
        :param end: the day or time before which it was used; default: the end of today
        :param group_by: default: ``day``
        """
        query = {"from": begin, "to": end, "group_by": group_by}
        usage: Usage = await self._transport.json("GET", "/v1/usage", query=query)
        return usage

    def events(
        self,
        *,
        type: str | Sequence[str] | None = None,
        object: str | None = None,
        sandbox_id: str | None = None,
        since: str | datetime | None = None,
        tail: int | None = None,
    ) -> AsyncIterator[WorkspaceEvent]:
        """Yields the events of the workspace, then new ones as they happen. A broken connection is continued without a
        gap or a repetition.

        :param type: a type, several, or a group such as ``deploy.*``
        :param object: id of a sandbox, build, deployment, app or database, or the name of a built template
        :param since: events after the one with this id, or after this time. Without it and ``tail`` the last 100 come
            first.
        :param tail: only so many of the latest events at the beginning
        """
        return follow_events(self._transport, event_query(type, object, sandbox_id), since, tail)

    def changes(self) -> AsyncIterator[Change | Literal["everything"]]:
        """Yields which objects of the workspace change, as they change. ``"everything"`` comes at the beginning, after
        each reconnect, and when changes may have been missed: read again what you show.
        """
        return follow_changes(self._transport)

    def past_events(
        self,
        *,
        type: str | Sequence[str] | None = None,
        object: str | None = None,
        sandbox_id: str | None = None,
        begin: str | datetime | None = None,
        end: str | datetime | None = None,
        since: str | datetime | None = None,
        tail: int | None = None,
        limit: int | None = None,
    ) -> AsyncList[WorkspaceEvent]:
        """The events of 90 days, newest first; with ``since`` or ``tail`` in the order of their arrival.

        :param begin: the time of the first
        :param end: the time before which the last happened
        :param limit: entries of one page
        """
        times: dict[str, QueryValue] = {"from": begin, "to": end, "since": since}
        query = {**event_query(type, object, sandbox_id), **times, "tail": tail, "limit": limit}
        return AsyncList(self._transport, EVENTS_PATH, query, lambda entry: entry)

    async def request(
        self,
        route: str,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, QueryValue] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Sends a request to any route of the API and returns the JSON that it answers:

            templates = client.request("GET /v1/templates", query={"name": "base"})

        :param path: values for the parts of the route in braces
        :param idempotency_key: makes a repetition of a request that creates something safe. Only then is a POST or a
            PATCH sent again after a lost answer.
        """
        method, address = _address(route, path or {})
        return await self._transport.json(
            method,
            address,
            query=query,
            body=body,
            headers=headers,
            timeout=timeout,
            creates=idempotency_key is not None,
            idempotency_key=idempotency_key,
        )

    def list(
        self, route: str, *, path: Mapping[str, str] | None = None, query: Mapping[str, QueryValue] | None = None
    ) -> AsyncList[dict[str, Any]]:
        """The entries of all pages of a list."""
        return AsyncList(self._transport, _address(route, path or {})[1], query or {}, lambda entry: entry)


def _address(route: str, path: Mapping[str, str]) -> tuple[str, str]:
    method, space, template = route.partition(" ")
    if not space or not template.startswith("/"):
        raise ValueError(f'a route is a method and a path, such as "GET /v1/templates", not {route!r}')

    def segment(name: re.Match[str]) -> str:
        value = path[name[1]]
        if value in ("", ".", ".."):
            raise ValueError(f"{name[1]} must not be {value!r}")
        return path_segment(value)

    return method, re.sub(r"\{(\w+)\}", segment, template)

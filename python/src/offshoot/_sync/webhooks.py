# Generated from _async by tools/generate.py. Do not edit.
"""Webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from .._values import given, timestamp
from ..types import Webhook as WebhookInfo
from ..types import WebhookDelivery, WebhookDeliveryDetails, WebhookDeliveryStatus
from .lists import List
from .resource import Resource, delete_if_there
from .scope import Scope
from .transport import Transport


class Webhook(Resource[WebhookInfo]):
    """An address that gets the events of a workspace. ``with`` deletes a webhook that the program has made."""

    def __init__(self, transport: Transport, info: WebhookInfo, *, secret: str | None, is_owned: bool) -> None:
        super().__init__(Scope(transport, "/v1/webhooks").below(info["id"]), info, is_owned=is_owned)
        self.id = info["id"]
        self.secret = secret
        """Verifies the messages (Standard Webhooks). Known only after ``create`` and ``rotate_secret``."""
        self.deliveries = WebhookDeliveries(self._scope)

    def update(
        self,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        objects: Sequence[str] | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> Webhook:
        """Changes these fields. ``enabled=True`` begins anew with the next event."""
        self.info = self._scope.patch(_fields(url, events, objects, description, enabled))
        return self

    def rotate_secret(self, *, overlap_seconds: int | None = None) -> Webhook:
        """Makes a new :attr:`secret`.

        :param overlap_seconds: the old one signs so long, too; default: a day
        """
        body = given({"overlap_seconds": overlap_seconds})
        self.info, self.secret = _split(self._scope.post("/rotate-secret", body, creates=True))
        return self

    def test(self) -> WebhookDelivery:
        """Sends a message of the type ``webhook.test``."""
        delivery: WebhookDelivery = self._scope.post("/test")
        return delivery

    def redeliver(self, since: str | datetime) -> int:
        """Sends all failed messages since that time again, at most 10,000. Returns how many."""
        count: int = (self._scope.post("/redeliver", {"since": timestamp(since)}))["count"]
        return count


class WebhookDeliveries:
    """The messages to a webhook."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope.below("deliveries")

    def list(
        self, *, status: WebhookDeliveryStatus | None = None, type: str | None = None, limit: int | None = None
    ) -> List[WebhookDelivery]:
        """The messages, newest first."""
        return self._scope.list("", {"status": status, "type": type, "limit": limit})

    def get(self, delivery_id: str) -> WebhookDeliveryDetails:
        """One message with its body and its last attempts.

        :raises NotFoundError: there is none
        """
        details: WebhookDeliveryDetails = self._scope.below(delivery_id).get()
        return details

    def redeliver(self, delivery_id: str) -> WebhookDelivery:
        """Sends a message again."""
        delivery: WebhookDelivery = self._scope.below(delivery_id).post("/redeliver")
        return delivery


class Webhooks:
    """The webhooks of a workspace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._scope = Scope(transport, "/v1/webhooks")

    def create(
        self,
        url: str,
        *,
        events: Sequence[str] | None = None,
        objects: Sequence[str] | None = None,
        description: str | None = None,
        idempotency_key: str | None = None,
    ) -> Webhook:
        """Makes a webhook.

        :param events: types, or groups such as ``deploy.*``; default: all
        :param objects: ids of sandboxes, builds, deployments, apps or databases, or names of built templates; default:
            all
        """
        body = _fields(url, events, objects, description, None)
        info, secret = _split(self._scope.post("", body, creates=True, idempotency_key=idempotency_key))
        return Webhook(self._transport, info, secret=secret, is_owned=True)

    def get(self, webhook_id: str) -> Webhook:
        """
        :raises NotFoundError: there is none
        """
        return self._found(self._scope.below(webhook_id).get())

    def list(self, *, enabled: bool | None = None, limit: int | None = None) -> List[Webhook]:
        """The webhooks, newest first."""
        return self._scope.list("", {"enabled": enabled, "limit": limit}, self._found)

    def _found(self, info: WebhookInfo) -> Webhook:
        return Webhook(self._transport, info, secret=None, is_owned=False)

    def delete(self, webhook_id: str) -> None:
        """Deletes a webhook with its messages. It is no error if there is none."""
        delete_if_there(self._scope.below(webhook_id))


def _split(answer: dict[str, Any]) -> tuple[WebhookInfo, str]:
    """The description, which may be shown, and the secret."""
    secret: str = answer.pop("secret")
    return cast(WebhookInfo, answer), secret


def _fields(
    url: str | None,
    events: Sequence[str] | None,
    objects: Sequence[str] | None,
    description: str | None,
    enabled: bool | None,
) -> dict[str, object]:
    return given(
        {
            "url": url,
            "events": None if events is None else list(events),
            "objects": None if objects is None else list(objects),
            "description": description,
            "enabled": enabled,
        }
    )

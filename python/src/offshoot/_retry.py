"""When a request is repeated, and after how long."""

from __future__ import annotations

import random
from email.utils import parsedate_to_datetime
from time import time

RETRIED_STATUSES = frozenset({429, 500, 502, 503, 507})
"""The statuses that a later attempt may not get, as the API's documentation says."""
REFUSED_STATUSES = frozenset({429})
"""After these the server has certainly done nothing, so that any request may be repeated."""
MAX_DELAY_SECONDS = 8.0
MAX_RETRY_AFTER_SECONDS = 60.0
"""A longer ``Retry-After`` ends the attempts: the caller gets the error."""
_FIRST_DELAY_SECONDS = 0.25


def is_retried(status: int, *, repeatable: bool) -> bool:
    """Whether a later attempt may succeed and does no harm.

    ``repeatable``: carrying the request out twice is the same as once.
    """
    return status in (RETRIED_STATUSES if repeatable else REFUSED_STATUSES)


def delay_before(attempt: int, retry_after: str | None = None, *, draw: float | None = None) -> float | None:
    """Seconds before the given repetition (1 is the first); ``None``: give up, the server asks for too long a wait.

    Without ``Retry-After`` the delay doubles from 0.25 s up to 8 s, of which a random half is cut off.
    """
    asked = _seconds_of(retry_after)
    if asked is not None:
        return asked if asked <= MAX_RETRY_AFTER_SECONDS else None
    whole: float = min(MAX_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2 ** (attempt - 1))
    return whole * (1 - 0.5 * (random.random() if draw is None else draw))  # noqa: S311


def _seconds_of(retry_after: str | None) -> float | None:
    """Of a header with seconds or a date."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    except (TypeError, ValueError):
        return None

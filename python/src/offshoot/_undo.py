"""What deletes the results of creates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Made = Mapping[str, Any]
SECONDS = 60.0
"""For all of it. The server may be away just now."""


def _children(made: Made, _: str) -> list[str]:
    return [f"/v1/sandboxes/{child['id']}" for child in made["children"]]


_PATHS: Sequence[tuple[str, Callable[[Made, str], list[str]]]] = (
    (r"/v1/sandboxes(/[^/]+/fork)?", lambda made, _: [f"/v1/sandboxes/{made['id']}"]),
    (r"/v1/sandboxes/[^/]+/fork-tree", _children),
    (r"/v1/sandboxes/[^/]+/snapshots", lambda made, _: [f"/v1/snapshots/{made['id']}"]),
    (r"/v1/volumes/[^/]+/snapshots", lambda made, path: [f"{path}/{made['id']}"]),
    (r"/v1/databases(/[^/]+/(branch|restore))?", lambda made, _: [f"/v1/databases/{made['id']}"]),
    (r"/v1/webhooks", lambda made, _: [f"/v1/webhooks/{made['id']}"]),
    (r"/v1/me/tokens", lambda made, _: [f"/v1/me/tokens/{made['prefix']}"]),
)
"""Everything whose id or secret only the answer tells. A volume, an app or a template has a name that the program
knows, and may hold data by then."""


def paths_of(path: str, made: Made) -> list[str]:
    """The paths that delete what a create at ``path`` has made."""
    for pattern, paths in _PATHS:
        if re.fullmatch(pattern, path):
            return paths(made, path)
    return []

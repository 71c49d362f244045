# Generated from _async by tools/generate.py. Do not edit.
"""Links to private previews."""

from __future__ import annotations

from .._values import given
from ..types import CreatedPreviewLink, PreviewLink
from .lists import List
from .resource import delete_if_there
from .scope import Scope


class Links:
    """The links that open a private preview."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope.below("links")

    def create(self, *, expires_in_seconds: int | None = None, label: str | None = None) -> CreatedPreviewLink:
        """Makes a link. Its ``url`` opens the preview until it expires. Only this answer has it."""
        fields = {"expires_in_seconds": expires_in_seconds, "label": label}
        link: CreatedPreviewLink = self._scope.post("", given(fields))
        return link

    def list(self, *, limit: int | None = None) -> List[PreviewLink]:
        """The links that have not expired, newest first."""
        return self._scope.list("", {"limit": limit})

    def delete(self, link_id: str) -> None:
        """Revokes a link. It is no error if there is none."""
        delete_if_there(self._scope.below(link_id))

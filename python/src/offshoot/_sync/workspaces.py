# Generated from _async by tools/generate.py. Do not edit.
"""Workspaces and their members."""

from __future__ import annotations

from typing import Literal

from .._values import given
from ..types import Invitation, Member, WorkspaceSummary
from ..types import Org as WorkspaceInfo
from .lists import List
from .resource import delete_if_there
from .scope import Scope
from .transport import Transport

Role = Literal["owner", "admin", "member"]


class Workspaces:
    """The workspaces of a user, their members and invitations. Only the token of a user may use them."""

    def __init__(self, transport: Transport) -> None:
        self._scope = Scope(transport, "/v1/orgs")
        self._me = Scope(transport, "/v1/me")

    def create(self, name: str, *, slug: str | None = None) -> WorkspaceSummary:
        """Makes a workspace of which the user is the owner.

        :raises ConflictError: the slug is taken
        """
        made: WorkspaceSummary = self._scope.post("", given({"name": name, "slug": slug}), creates=True)
        return made

    def get(self, workspace_id: str) -> WorkspaceInfo:
        """
        :raises NotFoundError: there is none
        """
        info: WorkspaceInfo = self._scope.below(workspace_id).get()
        return info

    def list(
        self, *, name: str | None = None, slug: str | None = None, limit: int | None = None
    ) -> List[WorkspaceSummary]:
        """The workspaces in the order of joining."""
        return self._scope.list("", {"name": name, "slug": slug, "limit": limit})

    def update(self, workspace_id: str, *, name: str | None = None, slug: str | None = None) -> WorkspaceSummary:
        """Changes the name or the slug.

        :raises ConflictError: the slug is taken
        """
        changed: WorkspaceSummary = self._scope.below(workspace_id).patch(given({"name": name, "slug": slug}))
        return changed

    def delete(self, workspace_id: str) -> None:
        """Deletes a workspace with everything in it. It is no error if there is none."""
        delete_if_there(self._scope.below(workspace_id))

    def select(self, workspace_id: str) -> WorkspaceSummary:
        """Makes it the user's current workspace, in which a token acts without ``org``.

        :raises NotFoundError: the user is no member of it
        """
        org: WorkspaceSummary = (self._me.post("/current-org", {"org_id": workspace_id}, idempotent=True))["org"]
        return org

    def members(
        self, workspace_id: str, *, email: str | None = None, role: Role | None = None, limit: int | None = None
    ) -> List[Member]:
        """The members in the order of joining."""
        return self._scope.below(workspace_id).list("/members", {"email": email, "role": role, "limit": limit})

    def update_member(self, workspace_id: str, user_id: str, *, role: Role) -> Member:
        """Changes the role of a member."""
        member: Member = self._scope.below(workspace_id, "members", user_id).patch({"role": role})
        return member

    def remove_member(self, workspace_id: str, user_id: str) -> None:
        """Removes a member. It is no error if there is none."""
        delete_if_there(self._scope.below(workspace_id, "members", user_id))

    def invite(self, workspace_id: str, email: str, *, role: Literal["admin", "member"] | None = None) -> Invitation:
        """Invites somebody by e-mail.

        :param role: default: ``member``
        """
        body = given({"email": email, "role": role})
        invitation: Invitation = self._scope.below(workspace_id).post("/members", body, creates=True)
        return invitation

    def invitations(
        self, workspace_id: str, *, email: str | None = None, role: Role | None = None, limit: int | None = None
    ) -> List[Invitation]:
        """The open invitations, newest first."""
        return self._scope.below(workspace_id).list("/invites", {"email": email, "role": role, "limit": limit})

    def delete_invitation(self, workspace_id: str, invitation_id: str) -> None:
        """Withdraws an invitation. It is no error if there is none."""
        delete_if_there(self._scope.below(workspace_id, "invites", invitation_id))

    def accept_invitation(self, token: str) -> WorkspaceSummary:
        """Joins the workspace of an invitation.

        :raises NotFoundError: the invitation is unknown, or has expired
        """
        org: WorkspaceSummary = (self._scope.below("invites", token).post("/accept"))["org"]
        return org

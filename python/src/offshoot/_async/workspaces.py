"""Workspaces and their members."""

from __future__ import annotations

from typing import Literal

from .._values import given
from ..types import Invitation, Member, WorkspaceSummary
from ..types import Org as WorkspaceInfo
from .lists import AsyncList
from .resource import delete_if_there
from .scope import AsyncScope
from .transport import AsyncTransport

Role = Literal["owner", "admin", "member"]


class AsyncWorkspaces:
    """The workspaces of a user, their members and invitations. Only the token of a user may use them."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._scope = AsyncScope(transport, "/v1/orgs")
        self._me = AsyncScope(transport, "/v1/me")

    async def create(self, name: str, *, slug: str | None = None) -> WorkspaceSummary:
        """Makes a workspace of which the user is the owner.

        :raises ConflictError: the slug is taken
        """
        made: WorkspaceSummary = await self._scope.post("", given({"name": name, "slug": slug}), creates=True)
        return made

    async def get(self, workspace_id: str) -> WorkspaceInfo:
        """
        :raises NotFoundError: there is none
        """
        info: WorkspaceInfo = await self._scope.below(workspace_id).get()
        return info

    def list(
        self, *, name: str | None = None, slug: str | None = None, limit: int | None = None
    ) -> AsyncList[WorkspaceSummary]:
        """The workspaces in the order of joining."""
        return self._scope.list("", {"name": name, "slug": slug, "limit": limit})

    async def update(self, workspace_id: str, *, name: str | None = None, slug: str | None = None) -> WorkspaceSummary:
        """Changes the name or the slug.

        :raises ConflictError: the slug is taken
        """
        changed: WorkspaceSummary = await self._scope.below(workspace_id).patch(given({"name": name, "slug": slug}))
        return changed

    async def delete(self, workspace_id: str) -> None:
        """Deletes a workspace with everything in it. It is no error if there is none."""
        await delete_if_there(self._scope.below(workspace_id))

    async def select(self, workspace_id: str) -> WorkspaceSummary:
        """Makes it the user's current workspace, in which a token acts without ``org``.

        :raises NotFoundError: the user is no member of it
        """
        org: WorkspaceSummary = (await self._me.post("/current-org", {"org_id": workspace_id}, idempotent=True))["org"]
        return org

    def members(
        self, workspace_id: str, *, email: str | None = None, role: Role | None = None, limit: int | None = None
    ) -> AsyncList[Member]:
        """The members in the order of joining."""
        return self._scope.below(workspace_id).list("/members", {"email": email, "role": role, "limit": limit})

    async def update_member(self, workspace_id: str, user_id: str, *, role: Role) -> Member:
        """Changes the role of a member."""
        member: Member = await self._scope.below(workspace_id, "members", user_id).patch({"role": role})
        return member

    async def remove_member(self, workspace_id: str, user_id: str) -> None:
        """Removes a member. It is no error if there is none."""
        await delete_if_there(self._scope.below(workspace_id, "members", user_id))

    async def invite(
        self, workspace_id: str, email: str, *, role: Literal["admin", "member"] | None = None
    ) -> Invitation:
        """Invites somebody by e-mail.

        :param role: default: ``member``
        """
        body = given({"email": email, "role": role})
        invitation: Invitation = await self._scope.below(workspace_id).post("/members", body, creates=True)
        return invitation

    def invitations(
        self, workspace_id: str, *, email: str | None = None, role: Role | None = None, limit: int | None = None
    ) -> AsyncList[Invitation]:
        """The open invitations, newest first."""
        return self._scope.below(workspace_id).list("/invites", {"email": email, "role": role, "limit": limit})

    async def delete_invitation(self, workspace_id: str, invitation_id: str) -> None:
        """Withdraws an invitation. It is no error if there is none."""
        await delete_if_there(self._scope.below(workspace_id, "invites", invitation_id))

    async def accept_invitation(self, token: str) -> WorkspaceSummary:
        """Joins the workspace of an invitation.

        :raises NotFoundError: the invitation is unknown, or has expired
        """
        org: WorkspaceSummary = (await self._scope.below("invites", token).post("/accept"))["org"]
        return org

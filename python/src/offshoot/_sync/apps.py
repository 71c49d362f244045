# Generated from _async by tools/generate.py. Do not edit.
"""Apps and their deployments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from .._values import QueryValue, given
from ..errors import DeploymentFailedError
from ..types import App as AppInfo
from ..types import (
    AppDomain,
    AppStatus,
    DeploymentStatus,
    DeploymentWithLogs,
    Framework,
    Visibility,
)
from ..types import Deployment as DeploymentInfo
from . import _platform
from .links import Links
from .lists import List
from .resource import Resource, delete_if_there
from .scope import Scope
from .streams import follow
from .transport import Transport


class Deployment:
    """A deployment of an app."""

    def __init__(self, transport: Transport, info: DeploymentInfo | DeploymentWithLogs) -> None:
        self.id = info["id"]
        self.info: DeploymentInfo | DeploymentWithLogs = info
        """As the server has last described it."""
        self._scope = Scope(transport, "/v1/apps").below(info["app_id"], "deploys", self.id)

    def refresh(self) -> DeploymentWithLogs:
        """Asks the server for the current description, with ``build_logs``."""
        info: DeploymentWithLogs = self._scope.get()
        self.info = info
        return info

    def logs(self) -> str:
        """The build log until now."""
        response = self._scope.transport.request("GET", f"{self._scope.path}/logs")
        return response.text

    def follow_logs(self) -> Iterator[str]:
        """Yields the lines of the build log until the deploy is over. A broken connection is continued where it was."""
        return _lines(self._scope, "/logs")

    def wait(self, *, on_log: Callable[[str], object] | None = None) -> DeploymentWithLogs:
        """Waits until the deploy is over.

        :param on_log: called with each line of the build log as it arrives
        :raises DeploymentFailedError: the deploy has failed, or a newer one has taken its place
        """
        lines = self.follow_logs()
        with _platform.closing(lines):
            for line in lines:
                if on_log is not None:
                    on_log(line)
        info = self.refresh()
        if info["status"] != "live":
            raise DeploymentFailedError(info)
        return info

    def cancel(self) -> Deployment:
        """Cancels the deploy.

        :raises ConflictError: it is over
        """
        self.info = self._scope.post("/cancel")
        return self


class App(Resource[AppInfo]):
    """A git repository behind an address that stays. ``with`` deletes an app that the program has made."""

    def __init__(self, transport: Transport, info: AppInfo, *, is_owned: bool) -> None:
        super().__init__(Scope(transport, "/v1/apps").below(info["id"]), info, is_owned=is_owned)
        self.id = info["id"]
        self.domains = AppDomains(self._scope)
        self.links = Links(self._scope)
        """Those that open a private app."""

    @property
    def url(self) -> str:
        """Its address."""
        return self.info["url"]

    def update(
        self,
        *,
        git_branch: str | None = None,
        framework: Framework | None = None,
        install_command: str | None = None,
        build_command: str | None = None,
        start_command: str | None = None,
        root_directory: str | None = None,
        env: Mapping[str, str] | None = None,
        port: int | None = None,
        max_instances: int | None = None,
        auto_deploy: bool | None = None,
        preview_deploys: bool | None = None,
        idle_timeout_seconds: int | None = None,
        visibility: Visibility | None = None,
    ) -> App:
        """Changes these fields. They take effect with the next deploy, ``visibility`` at once. ``env`` replaces all
        variables; an empty command counts as none."""
        self.info = self._scope.patch(
            given(
                {
                    "git_branch": git_branch,
                    "framework": framework,
                    "install_command": install_command,
                    "build_command": build_command,
                    "start_command": start_command,
                    "root_directory": root_directory,
                    "env": None if env is None else dict(env),
                    "port": port,
                    "max_instances": max_instances,
                    "auto_deploy": auto_deploy,
                    "preview_deploys": preview_deploys,
                    "idle_timeout_seconds": idle_timeout_seconds,
                    "visibility": visibility,
                }
            )
        )
        return self

    def deploy(self, *, git_ref: str | None = None, idempotency_key: str | None = None) -> Deployment:
        """Starts a deploy. :meth:`Deployment.wait` waits for its end.

        :param git_ref: a branch, a tag or a commit; default: the branch of the app
        """
        return self._deploy("/deploys", given({"git_ref": git_ref}), idempotency_key)

    def rollback(self, *, deployment_id: str | None = None, idempotency_key: str | None = None) -> Deployment:
        """Starts to go back to the version before, or to one that was live.

        :raises ConflictError: there is none
        """
        return self._deploy("/rollback", given({"deployment_id": deployment_id}), idempotency_key)

    def _deploy(self, path: str, body: object, key: str | None) -> Deployment:
        info = self._scope.post(path, body, creates=True, idempotency_key=key)
        return Deployment(self._scope.transport, info)

    def deployments(
        self,
        *,
        status: DeploymentStatus | None = None,
        git_ref: str | None = None,
        git_commit: str | None = None,
        limit: int | None = None,
    ) -> List[Deployment]:
        """The deployments, newest first."""
        query: dict[str, QueryValue] = {
            "status": status,
            "git_ref": git_ref,
            "git_commit": git_commit,
            "limit": limit,
        }
        transport = self._scope.transport
        path = f"{self._scope.path}/deploys"
        return List(transport, path, query, lambda info: Deployment(transport, info))

    def get_deployment(self, deployment_id: str) -> Deployment:
        """
        :raises NotFoundError: there is none
        """
        return Deployment(self._scope.transport, self._scope.below("deploys", deployment_id).get())

    def logs(self) -> str:
        """The output of the version that serves."""
        response = self._scope.transport.request("GET", f"{self._scope.path}/runtime-logs")
        return response.text

    def follow_logs(self) -> Iterator[str]:
        """Yields the output of the version that serves, then that of later ones. A broken connection is continued where
        it was."""
        return _lines(self._scope, "/runtime-logs")

    def previews(self, *, limit: int | None = None) -> List[App]:
        """The previews of open pull requests, newest first."""
        transport = self._scope.transport
        path = f"{self._scope.path}/previews"
        return List(transport, path, {"limit": limit}, lambda info: App(transport, info, is_owned=False))


class AppDomains:
    """The domains of an app."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope.below("domains")

    def add(self, domain: str, *, certificate: str | None = None, private_key: str | None = None) -> AppDomain:
        """Adds a domain, or looks its DNS record up again. ``record`` of the answer is the record to create.

        :param certificate: PEM, followed by its intermediates
        :param private_key: PEM, without a passphrase
        """
        fields = {"domain": domain, "certificate": certificate, "private_key": private_key}
        added: AppDomain = self._scope.post("", given(fields), idempotent=True)
        return added

    def list(self, *, limit: int | None = None) -> List[AppDomain]:
        """The domains, oldest first."""
        return self._scope.list("", {"limit": limit})

    def delete(self, domain: str) -> None:
        """Removes a domain. It is no error if there is none."""
        delete_if_there(self._scope.below(domain))

    def delete_certificate(self, domain: str) -> None:
        """Removes the uploaded certificate of a domain. It is no error if there is none."""
        delete_if_there(self._scope.below(domain, "certificate"))


class Apps:
    """The apps of a workspace."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._scope = Scope(transport, "/v1/apps")

    def create(
        self,
        name: str,
        git_url: str,
        *,
        git_branch: str | None = None,
        framework: Framework | None = None,
        install_command: str | None = None,
        build_command: str | None = None,
        start_command: str | None = None,
        root_directory: str | None = None,
        env: Mapping[str, str] | None = None,
        port: int | None = None,
        max_instances: int | None = None,
        auto_deploy: bool | None = None,
        preview_deploys: bool | None = None,
        idle_timeout_seconds: int | None = None,
        visibility: Visibility | None = None,
        idempotency_key: str | None = None,
    ) -> App:
        """Makes an app. Nothing runs before its first deploy."""
        fields = {
            "name": name,
            "git_url": git_url,
            "git_branch": git_branch,
            "framework": framework,
            "install_command": install_command,
            "build_command": build_command,
            "start_command": start_command,
            "root_directory": root_directory,
            "env": None if env is None else dict(env),
            "port": port,
            "max_instances": max_instances,
            "auto_deploy": auto_deploy,
            "preview_deploys": preview_deploys,
            "idle_timeout_seconds": idle_timeout_seconds,
            "visibility": visibility,
        }
        info = self._scope.post("", given(fields), creates=True, idempotency_key=idempotency_key)
        return App(self._transport, info, is_owned=True)

    def get(self, app_id: str) -> App:
        """
        :raises NotFoundError: there is none
        """
        return App(self._transport, self._scope.below(app_id).get(), is_owned=False)

    def list(
        self,
        *,
        name: str | None = None,
        status: AppStatus | None = None,
        git_url: str | None = None,
        git_branch: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        limit: int | None = None,
    ) -> List[App]:
        """The apps without previews, newest first."""
        query: dict[str, QueryValue] = {
            "name": name,
            "status": status,
            "git_url": git_url,
            "git_branch": git_branch,
            "created_after": created_after,
            "created_before": created_before,
            "limit": limit,
        }
        return List(self._transport, "/v1/apps", query, lambda info: App(self._transport, info, is_owned=False))

    def delete(self, app_id: str) -> None:
        """Deletes an app with all its sandboxes. It is no error if there is none."""
        delete_if_there(self._scope.below(app_id))


def _lines(scope: Scope, path: str) -> Iterator[str]:
    lines = follow(scope.transport, scope.path + path, {"follow": True}, is_last=lambda event: event.event == "done")
    with _platform.closing(lines):
        for each in lines:
            if each.event != "done":
                yield each.data

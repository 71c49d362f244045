# Generated from _async by tools/generate.py. Do not edit.
"""Each function of the nouns besides sandboxes, against a real server."""

from __future__ import annotations

import base64
import os
import re
import uuid
from pathlib import Path

import pytest
from typing_extensions import assert_type

from offshoot import (
    App,
    AuthenticationError,
    BadRequestError,
    BuildFailedError,
    ConflictError,
    DeploymentFailedError,
    NotFoundError,
    Offshoot,
    Sandbox,
)
from offshoot.types import BuildLogLine, WorkspaceEvent

pytestmark = pytest.mark.anyio


def new_name() -> str:
    return f"python-{uuid.uuid4().hex[:8]}"


def new_public_key() -> str:
    parts = (b"ssh-ed25519", os.urandom(32))
    data = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"ssh-ed25519 {base64.b64encode(data).decode()} test"


def test_keeps_volumes(client: Offshoot) -> None:
    name = new_name()
    with client.volumes.create(name, size_mb=16) as volume:
        assert (volume.name, volume.info["size_mb"]) == (name, 16)
        with pytest.raises(ConflictError):
            client.volumes.create(name)
        assert (volume.resize(32)).info["size_mb"] == 32
        assert [each.name for each in client.volumes.list(name=name, attached=False).all()] == [name]
        snapshot = volume.snapshots.create()
        assert [each["id"] for each in volume.snapshots.list().all()] == [snapshot["id"]]
        with client.volumes.create(new_name(), from_snapshot=snapshot["id"]) as restored:
            assert restored.info["size_mb"] == 32
        with volume.clone(new_name()) as copy:
            assert (copy.refresh())["size_mb"] == 32
        with client.sandboxes.create("minimal", volumes=[{"name": name}]) as user:
            assert (volume.refresh())["attached_to"] == user.id
            with pytest.raises(ConflictError):
                volume.delete()
        volume.snapshots.delete(snapshot["id"])
        volume.snapshots.delete(snapshot["id"])
    with pytest.raises(NotFoundError):
        client.volumes.get(name)
    client.volumes.delete(name)


def test_builds_templates_with_progress(client: Offshoot, sandbox: Sandbox, tmp_path: Path) -> None:
    # The programs of `minimal`, as a root file system of its own.
    root = tmp_path / "root"
    sandbox.exec("mkdir -p /image/bin && cp /bin/busybox /image/bin/ && ln -s busybox /image/bin/sh", check=True)
    sandbox.files.download("/image", root)
    (root / "greeting").write_text("hello\n")
    name = new_name()
    build = client.templates.build(root, name=name, size_mb=64, start_cmd="echo started > /started")
    lines: list[BuildLogLine] = []
    assert (build.wait(on_log=lines.append))["status"] == "done"
    assert lines[-1]["percent"] == 100
    assert [line for line in build.follow_logs()] == lines
    assert lines[-1]["line"] in build.logs()
    assert (client.templates.get_build(build.id)).info["name"] == name
    assert [each.id for each in client.templates.builds(name=name).all()] == [build.id]
    assert [each["name"] for each in client.templates.list(name=name, is_global=False).all()] == [name]
    with pytest.raises(ConflictError):
        client.templates.build(b"", name=name)
    with client.sandboxes.create(name) as made:
        assert made.files.read("/greeting") == "hello\n"
        assert made.files.read("/started") == "started\n"
        again = made.make_template(name, replace=True)
        assert (again.wait())["status"] == "done"
    client.templates.delete(name)
    client.templates.delete(name)
    with pytest.raises(NotFoundError):
        client.templates.get(name)


def test_says_why_a_build_has_failed(client: Offshoot, tmp_path: Path) -> None:
    archive = tmp_path / "broken.tar"
    archive.write_bytes(b"x" * 10_240)
    build = client.templates.build(archive, name=new_name())
    with pytest.raises(BuildFailedError) as failed:
        build.wait()
    assert failed.value.build["error"]
    build.delete()


def test_keeps_snapshots(client: Offshoot, sandbox: Sandbox) -> None:
    name = new_name()
    snapshot = sandbox.snapshot(name=name)
    assert (client.snapshots.get(snapshot["id"]))["name"] == name
    listed = client.snapshots.list(name=name, sandbox_id=sandbox.id, template="minimal").all()
    assert [each["id"] for each in listed] == [snapshot["id"]]
    with client.sandboxes.create(from_snapshot=snapshot["id"]) as copy:
        assert copy.info["template"] == "minimal"
    client.snapshots.delete(snapshot["id"])
    client.snapshots.delete(snapshot["id"])
    with pytest.raises(NotFoundError):
        client.snapshots.get(snapshot["id"])


def test_sends_events_to_webhooks(client: Offshoot) -> None:
    with pytest.raises(BadRequestError):
        client.webhooks.create("no address")
    with client.webhooks.create("https://127.0.0.1/hook", events=["deploy.*"], description="a") as webhook:
        first = webhook.secret
        assert first is not None and first.startswith("whsec_")
        assert "secret" not in webhook.info
        assert (webhook.update(description="b", objects=["x"])).info["description"] == "b"
        assert (webhook.rotate_secret(overlap_seconds=60)).secret not in (None, first)
        found = client.webhooks.get(webhook.id)
        assert (found.secret, found.info["events"]) == (None, ["deploy.*"])
        assert webhook.id in [each.id for each in client.webhooks.list(enabled=True).all()]
        sent = webhook.test()
        assert (webhook.deliveries.get(sent["id"]))["payload"]["type"] == "webhook.test"
        assert [each["id"] for each in webhook.deliveries.list(type="webhook.test").all()] == [sent["id"]]
        webhook.update(enabled=False)
        webhook.update(enabled=True)
        assert (webhook.deliveries.redeliver(sent["id"]))["id"] == sent["id"]
        assert isinstance(webhook.redeliver("2026-01-01T00:00:00Z"), int)
    with pytest.raises(NotFoundError):
        webhook.refresh()
    client.webhooks.delete(webhook.id)


def test_follows_the_events_of_a_workspace(client: Offshoot) -> None:
    with client.sandboxes.create("minimal") as sandbox:
        seen: list[WorkspaceEvent] = []
        for event in client.events(object=sandbox.id, type="sandbox.*"):
            seen.append(event)
            if event["type"] == "sandbox.paused":
                break
            if event["type"] == "sandbox.running":
                sandbox.pause()
        # It goes on after the position of an event.
        sandbox.resume()
        for event in client.events(sandbox_id=sandbox.id, since=seen[-1]["id"]):
            assert event["type"] == "sandbox.resumed"
            break
    past = client.past_events(object=sandbox.id, type=["sandbox.paused", "sandbox.resumed"], limit=1).all()
    assert [each["type"] for each in past] == ["sandbox.resumed", "sandbox.paused"]
    assert len(client.past_events(tail=2).all()) == 2
    with pytest.raises(BadRequestError):
        client.past_events(since="never").all()


def mailed_invitation(email: str) -> str:
    """The secret of an invitation. Without a mail server, mails are files."""
    mails = [path.read_text() for path in Path(os.environ["OFFSHOOT_TEST_MAIL"]).iterdir()]
    [mail] = [text for text in mails if email in text and "/accept" in text]
    found = re.search(r"invites/(\S+)/accept", mail.replace("=\r\n", "").replace("=\n", ""))
    assert found is not None
    return found[1]


def test_makes_keys(client: Offshoot, user: Offshoot, newcomer: Offshoot) -> None:
    with pytest.raises(AuthenticationError):
        client.keys.create()
    key = user.keys.create(name=new_name(), expires_in_days=1, scopes=["volumes:read"])
    listed = user.keys.list(name=key["name"], expired=False).all()
    assert [each["prefix"] for each in listed] == [key["prefix"]]
    with Offshoot(api_key=key["token"]) as reader:
        reader.volumes.list().all()
        with pytest.raises(AuthenticationError):
            reader.volumes.create("data")
    user.keys.delete(key["prefix"])
    user.keys.delete(key["prefix"])
    token = user.keys.create_access_token(expires_in_seconds=60, scopes=["volumes:read"])
    with Offshoot(api_key=token["token"]) as reader:
        reader.volumes.list().all()
    newcomer.keys.create(name="a")
    newcomer.keys.delete_all()
    assert newcomer.keys.list().all() == []
    me = user.me()
    assert me["auth_method"] == "jwt"
    assert (client.usage(group_by="template"))["total"]


def test_lets_users_in_by_ssh(user: Offshoot) -> None:
    public_key = new_public_key()
    key = user.ssh.add_key(public_key, name="laptop")
    with pytest.raises(ConflictError):
        user.ssh.add_key(public_key)
    assert [each["id"] for each in user.ssh.keys(fingerprint=key["fingerprint"]).all()] == [key["id"]]
    user.ssh.delete_key(key["id"])
    user.ssh.delete_key(key["id"])
    assert (user.ssh.create_certificate(public_key))["certificate"]
    assert (user.ssh.gateway())["host"]


def test_invites_members(user: Offshoot, newcomer: Offshoot) -> None:
    org = (user.me())["org"]["id"]
    unwanted = user.workspaces.invite(org, f"{new_name()}@example.com")
    user.workspaces.delete_invitation(org, unwanted["id"])
    user.workspaces.delete_invitation(org, unwanted["id"])
    me = (newcomer.me())["user"]
    invitation = user.workspaces.invite(org, me["email"], role="admin")
    listed = user.workspaces.invitations(org, email=me["email"]).all()
    assert [each["id"] for each in listed] == [invitation["id"]]
    with pytest.raises(NotFoundError):
        newcomer.workspaces.accept_invitation("unknown")
    joined = newcomer.workspaces.accept_invitation(mailed_invitation(me["email"]))
    assert (joined["id"], joined["role"]) == (org, "admin")
    assert (user.workspaces.update_member(org, me["id"], role="member"))["role"] == "member"
    user.workspaces.remove_member(org, me["id"])
    with pytest.raises(NotFoundError):
        newcomer.workspaces.get(org)


def test_keeps_workspaces(user: Offshoot) -> None:
    current = (user.me())["org"]["id"]
    made = user.workspaces.create("Python", slug=new_name())
    try:
        changed = user.workspaces.update(made["id"], name="Snake")
        assert (user.workspaces.get(made["id"]))["name"] == changed["name"] == "Snake"
        assert [each["id"] for each in user.workspaces.list(slug=made["slug"]).all()] == [made["id"]]
        assert (user.workspaces.select(made["id"]))["id"] == made["id"]
        assert (user.workspaces.select(current))["id"] == current
        [owner] = user.workspaces.members(made["id"], role="owner").all()
        with pytest.raises(ConflictError):
            user.workspaces.update_member(made["id"], owner["user_id"], role="member")
        with pytest.raises(ConflictError):
            user.workspaces.remove_member(made["id"], owner["user_id"])
        # The plan of the new workspace has no room for a second member.
        with pytest.raises(BadRequestError, match="seat limit"):
            user.workspaces.invite(made["id"], "guest@example.com")
    finally:
        user.workspaces.delete(made["id"])
    user.workspaces.delete(made["id"])


def test_keeps_apps(client: Offshoot) -> None:
    name = new_name()
    app = client.apps.create(name, "https://git.example.invalid/app.git", env={"A": "1"}, visibility="private")
    assert_type(app, App)
    with app:
        assert app.url == (client.apps.get(app.id)).info["url"]
        assert [each.id for each in client.apps.list(name=name, status="created").all()] == [app.id]
        assert (app.update(port=4000, env={"B": "2"})).info["env"] == {"B": "***"}
        domain = f"{name}.example.com"
        assert (app.domains.add(domain))["record"]["type"] == "TXT"
        assert [each["domain"] for each in app.domains.list().all()] == [domain]
        app.domains.delete_certificate(domain)
        app.domains.delete(domain)
        link = app.links.create(expires_in_seconds=60, label="review")
        assert [each["id"] for each in app.links.list().all()] == [link["id"]]
        app.links.delete(link["id"])
        assert app.previews().all() == []
        assert app.logs() == ""
        with pytest.raises(ConflictError):
            app.rollback()
        # Nothing answers at this address.
        deployment = app.deploy(git_ref="main")
        lines: list[str] = []
        with pytest.raises(DeploymentFailedError) as failed:
            deployment.wait(on_log=lines.append)
        assert failed.value.deployment["build_logs"] == deployment.logs()
        assert "".join(f"{line}\n" for line in lines) == deployment.logs()
        with pytest.raises(ConflictError):
            deployment.cancel()
        assert (app.get_deployment(deployment.id)).info["status"] == "failed"
        assert [each.id for each in app.deployments(git_ref="main").all()] == [deployment.id]
    with pytest.raises(NotFoundError):
        app.refresh()
    client.apps.delete(app.id)

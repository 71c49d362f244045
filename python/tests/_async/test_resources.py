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
    AsyncApp,
    AsyncOffshoot,
    AsyncSandbox,
    AuthenticationError,
    BadRequestError,
    BuildFailedError,
    ConflictError,
    DeploymentFailedError,
    NotFoundError,
)
from offshoot.types import BuildLogLine, WorkspaceEvent

pytestmark = pytest.mark.anyio


def new_name() -> str:
    return f"python-{uuid.uuid4().hex[:8]}"


def new_public_key() -> str:
    parts = (b"ssh-ed25519", os.urandom(32))
    data = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"ssh-ed25519 {base64.b64encode(data).decode()} test"


async def test_keeps_volumes(client: AsyncOffshoot) -> None:
    name = new_name()
    async with await client.volumes.create(name, size_mb=16) as volume:
        assert (volume.name, volume.info["size_mb"]) == (name, 16)
        with pytest.raises(ConflictError):
            await client.volumes.create(name)
        assert (await volume.resize(32)).info["size_mb"] == 32
        assert [each.name for each in await client.volumes.list(name=name, attached=False).all()] == [name]
        snapshot = await volume.snapshots.create()
        assert [each["id"] for each in await volume.snapshots.list().all()] == [snapshot["id"]]
        async with await client.volumes.create(new_name(), from_snapshot=snapshot["id"]) as restored:
            assert restored.info["size_mb"] == 32
        async with await volume.clone(new_name()) as copy:
            assert (await copy.refresh())["size_mb"] == 32
        async with await client.sandboxes.create("minimal", volumes=[{"name": name}]) as user:
            assert (await volume.refresh())["attached_to"] == user.id
            with pytest.raises(ConflictError):
                await volume.delete()
        await volume.snapshots.delete(snapshot["id"])
        await volume.snapshots.delete(snapshot["id"])
    with pytest.raises(NotFoundError):
        await client.volumes.get(name)
    await client.volumes.delete(name)


async def test_builds_templates_with_progress(client: AsyncOffshoot, sandbox: AsyncSandbox, tmp_path: Path) -> None:
    # The programs of `minimal`, as a root file system of its own.
    root = tmp_path / "root"
    await sandbox.exec("mkdir -p /image/bin && cp /bin/busybox /image/bin/ && ln -s busybox /image/bin/sh", check=True)
    await sandbox.files.download("/image", root)
    (root / "greeting").write_text("hello\n")
    name = new_name()
    build = await client.templates.build(root, name=name, size_mb=64, start_cmd="echo started > /started")
    lines: list[BuildLogLine] = []
    assert (await build.wait(on_log=lines.append))["status"] == "done"
    assert lines[-1]["percent"] == 100
    assert [line async for line in build.follow_logs()] == lines
    assert lines[-1]["line"] in await build.logs()
    assert (await client.templates.get_build(build.id)).info["name"] == name
    assert [each.id for each in await client.templates.builds(name=name).all()] == [build.id]
    assert [each["name"] for each in await client.templates.list(name=name, is_global=False).all()] == [name]
    with pytest.raises(ConflictError):
        await client.templates.build(b"", name=name)
    async with await client.sandboxes.create(name) as made:
        assert await made.files.read("/greeting") == "hello\n"
        assert await made.files.read("/started") == "started\n"
        again = await made.make_template(name, replace=True)
        assert (await again.wait())["status"] == "done"
    await client.templates.delete(name)
    await client.templates.delete(name)
    with pytest.raises(NotFoundError):
        await client.templates.get(name)


async def test_says_why_a_build_has_failed(client: AsyncOffshoot, tmp_path: Path) -> None:
    archive = tmp_path / "broken.tar"
    archive.write_bytes(b"x" * 10_240)
    build = await client.templates.build(archive, name=new_name())
    with pytest.raises(BuildFailedError) as failed:
        await build.wait()
    assert failed.value.build["error"]
    await build.delete()


async def test_keeps_snapshots(client: AsyncOffshoot, sandbox: AsyncSandbox) -> None:
    name = new_name()
    snapshot = await sandbox.snapshot(name=name)
    assert (await client.snapshots.get(snapshot["id"]))["name"] == name
    listed = await client.snapshots.list(name=name, sandbox_id=sandbox.id, template="minimal").all()
    assert [each["id"] for each in listed] == [snapshot["id"]]
    async with await client.sandboxes.create(from_snapshot=snapshot["id"]) as copy:
        assert copy.info["template"] == "minimal"
    await client.snapshots.delete(snapshot["id"])
    await client.snapshots.delete(snapshot["id"])
    with pytest.raises(NotFoundError):
        await client.snapshots.get(snapshot["id"])


async def test_sends_events_to_webhooks(client: AsyncOffshoot) -> None:
    with pytest.raises(BadRequestError):
        await client.webhooks.create("no address")
    async with await client.webhooks.create("https://127.0.0.1/hook", events=["deploy.*"], description="a") as webhook:
        first = webhook.secret
        assert first is not None and first.startswith("whsec_")
        assert "secret" not in webhook.info
        assert (await webhook.update(description="b", objects=["x"])).info["description"] == "b"
        assert (await webhook.rotate_secret(overlap_seconds=60)).secret not in (None, first)
        found = await client.webhooks.get(webhook.id)
        assert (found.secret, found.info["events"]) == (None, ["deploy.*"])
        assert webhook.id in [each.id for each in await client.webhooks.list(enabled=True).all()]
        sent = await webhook.test()
        assert (await webhook.deliveries.get(sent["id"]))["payload"]["type"] == "webhook.test"
        assert [each["id"] for each in await webhook.deliveries.list(type="webhook.test").all()] == [sent["id"]]
        await webhook.update(enabled=False)
        await webhook.update(enabled=True)
        assert (await webhook.deliveries.redeliver(sent["id"]))["id"] == sent["id"]
        assert isinstance(await webhook.redeliver("2026-01-01T00:00:00Z"), int)
    with pytest.raises(NotFoundError):
        await webhook.refresh()
    await client.webhooks.delete(webhook.id)


async def test_follows_the_events_of_a_workspace(client: AsyncOffshoot) -> None:
    async with await client.sandboxes.create("minimal") as sandbox:
        seen: list[WorkspaceEvent] = []
        async for event in client.events(object=sandbox.id, type="sandbox.*"):
            seen.append(event)
            if event["type"] == "sandbox.paused":
                break
            if event["type"] == "sandbox.running":
                await sandbox.pause()
        # It goes on after the position of an event.
        await sandbox.resume()
        async for event in client.events(sandbox_id=sandbox.id, since=seen[-1]["id"]):
            assert event["type"] == "sandbox.resumed"
            break
    past = await client.past_events(object=sandbox.id, type=["sandbox.paused", "sandbox.resumed"], limit=1).all()
    assert [each["type"] for each in past] == ["sandbox.resumed", "sandbox.paused"]
    assert len(await client.past_events(tail=2).all()) == 2
    with pytest.raises(BadRequestError):
        await client.past_events(since="never").all()


def mailed_invitation(email: str) -> str:
    """The secret of an invitation. Without a mail server, mails are files."""
    mails = [path.read_text() for path in Path(os.environ["OFFSHOOT_TEST_MAIL"]).iterdir()]
    [mail] = [text for text in mails if email in text and "/accept" in text]
    found = re.search(r"invites/(\S+)/accept", mail.replace("=\r\n", "").replace("=\n", ""))
    assert found is not None
    return found[1]


async def test_makes_keys(client: AsyncOffshoot, user: AsyncOffshoot, newcomer: AsyncOffshoot) -> None:
    with pytest.raises(AuthenticationError):
        await client.keys.create()
    key = await user.keys.create(name=new_name(), expires_in_days=1, scopes=["volumes:read"])
    listed = await user.keys.list(name=key["name"], expired=False).all()
    assert [each["prefix"] for each in listed] == [key["prefix"]]
    async with AsyncOffshoot(api_key=key["token"]) as reader:
        await reader.volumes.list().all()
        with pytest.raises(AuthenticationError):
            await reader.volumes.create("data")
    await user.keys.delete(key["prefix"])
    await user.keys.delete(key["prefix"])
    token = await user.keys.create_access_token(expires_in_seconds=60, scopes=["volumes:read"])
    async with AsyncOffshoot(api_key=token["token"]) as reader:
        await reader.volumes.list().all()
    await newcomer.keys.create(name="a")
    await newcomer.keys.delete_all()
    assert await newcomer.keys.list().all() == []
    me = await user.me()
    assert me["auth_method"] == "jwt"
    assert (await client.usage(group_by="template"))["total"]


async def test_lets_users_in_by_ssh(user: AsyncOffshoot) -> None:
    public_key = new_public_key()
    key = await user.ssh.add_key(public_key, name="laptop")
    with pytest.raises(ConflictError):
        await user.ssh.add_key(public_key)
    assert [each["id"] for each in await user.ssh.keys(fingerprint=key["fingerprint"]).all()] == [key["id"]]
    await user.ssh.delete_key(key["id"])
    await user.ssh.delete_key(key["id"])
    assert (await user.ssh.create_certificate(public_key))["certificate"]
    assert (await user.ssh.gateway())["host"]


async def test_invites_members(user: AsyncOffshoot, newcomer: AsyncOffshoot) -> None:
    org = (await user.me())["org"]["id"]
    unwanted = await user.workspaces.invite(org, f"{new_name()}@example.com")
    await user.workspaces.delete_invitation(org, unwanted["id"])
    await user.workspaces.delete_invitation(org, unwanted["id"])
    me = (await newcomer.me())["user"]
    invitation = await user.workspaces.invite(org, me["email"], role="admin")
    listed = await user.workspaces.invitations(org, email=me["email"]).all()
    assert [each["id"] for each in listed] == [invitation["id"]]
    with pytest.raises(NotFoundError):
        await newcomer.workspaces.accept_invitation("unknown")
    joined = await newcomer.workspaces.accept_invitation(mailed_invitation(me["email"]))
    assert (joined["id"], joined["role"]) == (org, "admin")
    assert (await user.workspaces.update_member(org, me["id"], role="member"))["role"] == "member"
    await user.workspaces.remove_member(org, me["id"])
    with pytest.raises(NotFoundError):
        await newcomer.workspaces.get(org)


async def test_keeps_workspaces(user: AsyncOffshoot) -> None:
    current = (await user.me())["org"]["id"]
    made = await user.workspaces.create("Python", slug=new_name())
    try:
        changed = await user.workspaces.update(made["id"], name="Snake")
        assert (await user.workspaces.get(made["id"]))["name"] == changed["name"] == "Snake"
        assert [each["id"] for each in await user.workspaces.list(slug=made["slug"]).all()] == [made["id"]]
        assert (await user.workspaces.select(made["id"]))["id"] == made["id"]
        assert (await user.workspaces.select(current))["id"] == current
        [owner] = await user.workspaces.members(made["id"], role="owner").all()
        with pytest.raises(ConflictError):
            await user.workspaces.update_member(made["id"], owner["user_id"], role="member")
        with pytest.raises(ConflictError):
            await user.workspaces.remove_member(made["id"], owner["user_id"])
        # The plan of the new workspace has no room for a second member.
        with pytest.raises(BadRequestError, match="seat limit"):
            await user.workspaces.invite(made["id"], "guest@example.com")
    finally:
        await user.workspaces.delete(made["id"])
    await user.workspaces.delete(made["id"])


async def test_keeps_apps(client: AsyncOffshoot) -> None:
    name = new_name()
    app = await client.apps.create(name, "https://git.example.invalid/app.git", env={"A": "1"}, visibility="private")
    assert_type(app, AsyncApp)
    async with app:
        assert app.url == (await client.apps.get(app.id)).info["url"]
        assert [each.id for each in await client.apps.list(name=name, status="created").all()] == [app.id]
        assert (await app.update(port=4000, env={"B": "2"})).info["env"] == {"B": "***"}
        domain = f"{name}.example.com"
        assert (await app.domains.add(domain))["record"]["type"] == "TXT"
        assert [each["domain"] for each in await app.domains.list().all()] == [domain]
        await app.domains.delete_certificate(domain)
        await app.domains.delete(domain)
        link = await app.links.create(expires_in_seconds=60, label="review")
        assert [each["id"] for each in await app.links.list().all()] == [link["id"]]
        await app.links.delete(link["id"])
        assert await app.previews().all() == []
        assert await app.logs() == ""
        with pytest.raises(ConflictError):
            await app.rollback()
        # Nothing answers at this address.
        deployment = await app.deploy(git_ref="main")
        lines: list[str] = []
        with pytest.raises(DeploymentFailedError) as failed:
            await deployment.wait(on_log=lines.append)
        assert failed.value.deployment["build_logs"] == await deployment.logs()
        assert "".join(f"{line}\n" for line in lines) == await deployment.logs()
        with pytest.raises(ConflictError):
            await deployment.cancel()
        assert (await app.get_deployment(deployment.id)).info["status"] == "failed"
        assert [each.id for each in await app.deployments(git_ref="main").all()] == [deployment.id]
    with pytest.raises(NotFoundError):
        await app.refresh()
    await client.apps.delete(app.id)

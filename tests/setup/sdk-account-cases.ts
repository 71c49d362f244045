import { randomUUID } from 'node:crypto'
import { AuthenticationError, BadRequestError, NotFoundError, Offshoot as Client } from '@offshoot/sdk'
import { expect, it } from 'vitest'
import { invitationFor } from './mailed.ts'
import type { Offshoot } from './offshoot.ts'

/** A public key that nobody has the private key of. */
const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFPyqJS8Sg0HrQYBGtIGQHLSOBnEFbNUiWYUvvVFuNhB laptop'

interface World {
  /** With the API key of the first user. */
  readonly client: Client
  /** With the JWT of the same user. */
  readonly user: Client
  readonly offshoot: Offshoot
}

/** The SDK's functions for the user, keys, SSH and workspaces. */
export function sdkAccountCases(worldOf: () => World): void {
  it('is described', async () => {
    const { client, user, offshoot } = worldOf()
    const me = await user.me()
    expect(me).toMatchObject({ user: { email: offshoot.credentials.email }, authMethod: 'jwt' })
    expect(await client.usage({ groupBy: 'template' })).toMatchObject({ groupBy: 'template', total: {} })
    await expect(client.me()).rejects.toBeInstanceOf(AuthenticationError)
  })

  it('has keys, and tokens with fewer rights', async () => {
    const { client, user } = worldOf()
    const name = randomUUID()
    const key = await user.keys.create({ name, scopes: ['volumes:read'], expiresInDays: 1 })
    const limited = new Client({ baseUrl: client.baseUrl, apiKey: key.token })
    expect(await limited.volumes.list().all()).toEqual([])
    await expect(limited.volumes.create({ name: 'refused' })).rejects.toBeInstanceOf(AuthenticationError)
    const [listed] = await user.keys.list({ name }).all()
    expect(key).toMatchObject({ ...listed, lastUsedAt: null })
    expect(listed).not.toHaveProperty('token')
    await user.keys.delete(key.prefix)
    await user.keys.delete(key.prefix)
    expect(await user.keys.list({ name }).first()).toBeNull()
    const access = await user.keys.createAccessToken({ scopes: ['apps:read'], expiresInSeconds: 60 })
    const narrow = new Client({ baseUrl: client.baseUrl, jwt: async () => access.token })
    expect(await narrow.apps.list().all()).toEqual([])
    await expect(narrow.volumes.list().all()).rejects.toBeInstanceOf(AuthenticationError)
    const ina = await signedUp(worldOf(), `${name}@example.com`)
    await ina.keys.create({ name })
    await ina.keys.deleteAll()
    expect(await ina.keys.list().first()).toBeNull()
    expect(await client.volumes.list().all()).toEqual([])
  })

  it('enters by SSH', async () => {
    const { client, user, offshoot } = worldOf()
    const gateway = await client.ssh.gateway()
    expect(gateway.port).toBe(offshoot.credentials.ssh_port)
    const certificate = await user.ssh.createCertificate({ publicKey: PUBLIC_KEY })
    expect(certificate).toMatchObject({ certificate: expect.stringMatching(/^ssh-ed25519-cert/), gateway })
    const key = await user.ssh.addKey({ publicKey: PUBLIC_KEY, name: 'laptop' })
    expect(await user.ssh.keys({ fingerprint: key.fingerprint }).all()).toEqual([key])
    await user.ssh.deleteKey(key)
    expect(await user.ssh.keys().first()).toBeNull()
    await expect(user.ssh.addKey({ publicKey: 'no key' })).rejects.toBeInstanceOf(BadRequestError)
  })

  it('has workspaces', async () => {
    const { user } = worldOf()
    const made = await user.workspaces.create({ name: 'Crew' })
    expect(await user.workspaces.get(made.id)).toMatchObject({ name: 'Crew', role: 'owner', members: 1 })
    expect((await user.workspaces.update(made.id, { name: made.id })).name).toBe(made.id)
    expect((await user.workspaces.list({ name: made.id }).all()).map(({ id }) => id)).toEqual([made.id])
    const before = (await user.me()).org
    expect(await user.workspaces.select(made.id)).toMatchObject({ id: made.id })
    expect((await user.me()).org.id).toBe(made.id)
    await user.workspaces.select(before.id)
    await user.workspaces.delete(made.id)
    await user.workspaces.delete(made.id)
    await expect(user.workspaces.get(made.id)).rejects.toBeInstanceOf(NotFoundError)
  })

  it('invites others to a workspace', async () => {
    const { user } = worldOf()
    const { id } = (await user.me()).org
    const email = `${randomUUID()}@example.com`
    const ina = await signedUp(worldOf(), email)
    const unwanted = await user.workspaces.invite(id, { email: 'nobody@example.com' })
    await user.workspaces.deleteInvitation(id, unwanted.id)
    const invitation = await user.workspaces.invite(id, { email, role: 'admin' })
    expect(await user.workspaces.invitations(id, { email }).all()).toEqual([invitation])
    expect(await ina.workspaces.acceptInvitation(await invitationFor(worldOf().offshoot, email))).toMatchObject({
      id,
      role: 'admin',
    })
    const [member] = await user.workspaces.members(id, { email }).all()
    expect(member).toMatchObject({ email, role: 'admin' })
    const { userId = '' } = member ?? {}
    expect(await user.workspaces.updateMember(id, userId, { role: 'member' })).toMatchObject({ userId, role: 'member' })
    await user.workspaces.removeMember(id, userId)
    await expect(ina.workspaces.get(id)).rejects.toBeInstanceOf(NotFoundError)
  })
}

/** A client for a new user. */
async function signedUp({ client }: World, email: string): Promise<Client> {
  const body = { email, password: randomUUID(), name: 'Ina' }
  const { token } = await client.request('POST /api/auth/sign-up/email', { body })
  const session = new Client({ baseUrl: client.baseUrl, jwt: token ?? '' })
  const { token: jwt } = await session.request('GET /api/auth/token')
  return new Client({ baseUrl: client.baseUrl, jwt })
}

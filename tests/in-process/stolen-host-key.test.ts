/** @module-tag faults */
/** Everything that is on a stolen host, at an edge. `stolen-host-key.test.ts` of control has the routes of control. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { databaseUser } from '@offshoot/contract/database'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import { PREVIEW_RETURN_PATH } from '@offshoot/contract/preview-access'
import { call } from '@offshoot/control/test/harness'
import { internalPaths } from '@offshoot/control/test/internal-paths'
import { JoiningHost } from '@offshoot/control/test/joining-host'
import { startupPacket } from '@offshoot/edge/postgres/startup-packet'
import { patience, until } from '@offshoot/edge/test/edge-under-test'
import { signIn } from '@offshoot/edge/test/ssh-sign-in'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PAGE, PreviewWorld, token } from '../setup/preview-world.ts'
import { OPERATOR, OPERATOR_KEY } from '@offshoot/control/test/operator'

/** The ways in which a browser or a program presents a token to an edge. */
const presented = (value: string): readonly Record<string, string>[] => [
  { authorization: `Bearer ${value}` },
  token(value),
  { cookie: `offshoot-preview=${value}; __Host-offshoot-preview=${value}` },
]

const ANYWHERE = { host: '127.0.0.1', port: 1 }
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex')
const portOf = (server: Pick<Server, 'address'>) => (server.address() as AddressInfo).port

describe('everything that is on a stolen host', () => {
  let world: PreviewWorld
  /** Bearer tokens that a thief can make, by what they pretend to be. */
  let tokens: Readonly<Record<string, string>>
  /** Hosts of a private sandbox and a private app of another host. */
  let privateHosts: readonly string[]
  let host: JoiningHost
  let sandbox: SandboxId

  beforeAll(async () => {
    world = await PreviewWorld.start(
      { ...OPERATOR, ssh: { host: '127.0.0.1', port: 2222 } },
      // Tests listen at other ports.
      { ssh: { listen: ANYWHERE }, databases: { listen: ANYWHERE, suffix: null } },
    )
    sandbox = parseSandboxId(await world.created()) as SandboxId
    const body = { name: randomUUID(), git_url: 'https://git.example.com/x.git', visibility: 'private' }
    const app = (await world.as('POST', '/v1/apps', body)).body.id
    privateHosts = [`${world.parts.port}-${sandbox}.localhost:8081`, `${app}.localhost:8081`]
    const { control } = world.parts
    const made = await call(control.url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY })
    host = new JoiningHost()
    await host.join(control, made.body.token)
    const workspace = { workspace_id: world.alice.workspaceId, org: world.alice.workspaceId }
    const claims = { ...workspace, sandbox_id: sandbox, origin: `http://${privateHosts[0]}`, aud: 'offshoot' }
    tokens = { spent: made.body.token, ...(await host.forgedTokens(claims)) }
    for (const at of privateHosts)
      await until('the edge to know', async () => (await world.visit(at, '/', {})).status === 401)
  })
  afterAll(() => world.stop())

  it('finds no route between the processes at an edge', async () => {
    const own = `localhost:${world.parts.edge.port}`
    const answered: string[] = []
    for (const path of [...(await internalPaths()), '/metrics', '/v1/sandboxes', '/v1/agent']) {
      for (const [name, value] of Object.entries(tokens)) {
        for (const headers of presented(value)) {
          const { status } = await world.visit(own, path, headers)
          if (status !== 404) answered.push(`${path} with ${name}: ${status}`)
        }
      }
    }
    expect(answered).toEqual([])
    expect((await world.visit(own, '/healthz')).status).toBe(200)
  })

  it('opens no private sandbox and no private app', async () => {
    const opened: string[] = []
    world.seen = undefined
    for (const at of privateHosts) {
      for (const [name, value] of Object.entries(tokens)) {
        const inQuery = `offshoot_token=${encodeURIComponent(value)}`
        const back = `${PREVIEW_RETURN_PATH}?code=${encodeURIComponent(value)}&state=${'s'.repeat(43)}`
        const answers = await Promise.all([
          ...presented(value).map((headers) => world.visit(at, '/', headers)),
          world.visit(at, `/?${inQuery}`),
          world.visit(at, back, { ...PAGE, cookie: `offshoot-preview-state=${'s'.repeat(43)}` }),
        ])
        for (const { status } of answers) if (status !== 401) opened.push(`${at} with ${name}: ${status}`)
      }
    }
    expect(opened).toEqual([])
    expect(world.seen).toBeUndefined()
  })

  it('signs in to no sandbox by SSH', async () => {
    const { ssh } = world.parts.edge.edge
    if (ssh === null) throw new Error('the edge has no SSH')
    await once(ssh.server.listen(0, '127.0.0.1'), 'listening')
    const port = portOf(ssh.server)
    for (const username of [sandbox, 'root', world.alice.workspaceId]) {
      const passwords = Object.values(tokens).map((password) => ({ type: 'password', username, password }) as const)
      for (const method of [{ type: 'publickey', username, key: host.key } as const, ...passwords])
        expect(await signIn(port, method)).toBe('All configured authentication methods failed')
    }
  })

  it('opens no private sandbox at the port of databases, also with its certificate', { tags: ['long'] }, async () => {
    const { databases } = world.parts.edge.edge
    if (databases === null) throw new Error('the edge has no databases')
    await once(databases.server.listen(0, '127.0.0.1'), 'listening')
    const { cert, key } = host.identity
    for (const identity of [{}, { cert, key }]) {
      const socket = connect(portOf(databases.server), '127.0.0.1').on('error', () => undefined)
      socket.write(SSL_REQUEST)
      expect((await patience('an answer').race(once(socket, 'data'))).toString()).toBe('S')
      const client = connectTls({ socket, rejectUnauthorized: false, ...identity })
      await patience('TLS').race(once(client, 'secureConnect'))
      client.write(startupPacket(196_608, new Map([['user', databaseUser(sandbox)]])))
      expect((await patience('a refusal').race(buffer(client))).toString()).toContain('database does not exist')
    }
  })
})

/** Control, an edge and a server behind it, without a VM. Two fake agents stand for the one of a real service. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FakeAgent } from '@offshoot/control/test/fake-agent'
import { call, Harness, type RunningControl, type TestSettings } from '@offshoot/control/test/harness'
import { type Answered, EdgeUnderTest } from '@offshoot/edge/test/edge-under-test'
import { WebSocketServer } from 'ws'

const PASSWORD = 'correct horse battery'
/** Shared by control and edges. */
export const EDGE_SECRET = Buffer.alloc(32, 7).toString('base64')
/** The header of a browser that opens a page. */
export const PAGE = { accept: 'text/html' }

export const token = (value: string) => ({ 'x-offshoot-preview-token': value })
/** Name and value of the first cookie that an answer sets. */
export const cookieOf = ({ headers }: Pick<Answered, 'headers'>) =>
  (headers['set-cookie'] ?? [])[0]?.split(';')[0] ?? ''

interface Parts {
  readonly agent: FakeAgent
  readonly harness: Harness
  readonly control: RunningControl
  readonly edge: EdgeUnderTest
  readonly server: Server
  readonly port: number
}

/** A user with a session, and a token of it. */
interface User {
  readonly cookie: string
  readonly jwt: string
  readonly workspaceId: string
}

export class PreviewWorld {
  readonly parts: Parts
  alice: User = { cookie: '', jwt: '', workspaceId: '' }
  /** The last request that the server inside has seen. */
  seen: IncomingMessage | undefined

  private constructor(parts: Parts) {
    this.parts = parts
    parts.server.on('request', (request: IncomingMessage) => (this.seen = request))
  }

  /** @param settings of control. @param edgeSettings further ones of the edge */
  static async start(settings: TestSettings = {}, edgeSettings: Record<string, unknown> = {}): Promise<PreviewWorld> {
    const agent = await FakeAgent.start()
    const harness = await Harness.start()
    const control = await harness.control([agent], { edge_secret: EDGE_SECRET, sign_up: 'open', ...settings })
    const access = { url: control.url, secret: EDGE_SECRET, public_url: control.url }
    const edge = await EdgeUnderTest.start({}, { control: access, ...edgeSettings })
    const server = createServer((request, response) => {
      if (request.url === '/stream') response.write('begun')
      else response.setHeader('set-cookie', ['app=1', 'offshoot-preview=stolen']).end('inside')
    })
    new WebSocketServer({ server }).on('connection', (socket) => socket.send('hello'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const world = new PreviewWorld({ agent, harness, control, edge, server, port })
    world.alice = await world.signedUp('alice')
    return world
  }

  async stop(): Promise<void> {
    const { edge, harness, agent, server } = this.parts
    await edge.stop()
    await harness.stop()
    await agent.kill()
    server.closeAllConnections()
    server.close()
  }

  async signedUp(name: string): Promise<User> {
    const { url } = this.parts.control
    const body = JSON.stringify({ name, email: `${name}@example.com`, password: PASSWORD })
    const post = (path: string) =>
      fetch(`${url}/api/auth/${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    await post('sign-up/email')
    const set = (await post('sign-in/email')).headers.getSetCookie()
    const cookie = set.map((each) => each.split(';')[0]).join('; ')
    const { token: jwt } = (await (await fetch(`${url}/api/auth/token`, { headers: { cookie } })).json()) as {
      token: string
    }
    const { body: me } = await call(url, 'GET', '/v1/me', { token: jwt })
    return { cookie, jwt, workspaceId: me.org.id }
  }

  /** A request of alice. */
  as(method: string, path: string, body?: unknown) {
    return call(this.parts.control.url, method, path, { token: this.alice.jwt, ...(body !== undefined && { body }) })
  }

  /** A sandbox of alice that the edge knows. @returns its id */
  async created(body: object = { visibility: 'private' }): Promise<string> {
    const { status, body: made } = await this.as('POST', '/v1/sandboxes', { template: 'base', ...body })
    if (status !== 201) throw new Error(`create answered ${status}`)
    this.parts.edge.agent.add(made.id, 'running', made.visibility)
    this.parts.edge.agent.say(made.id, 'sandbox.running', undefined, { visibility: made.visibility })
    return made.id
  }

  /** A request of a visitor. */
  visit(host: string, path = '/', headers: Record<string, string> = {}): Promise<Answered> {
    return this.parts.edge.ask(this.parts.port, path, { headers: { host, ...headers } })
  }
}

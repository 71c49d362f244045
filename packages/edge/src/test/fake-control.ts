import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { EDGE_APPS_PATH, EDGE_LOAD_PATH, type EdgeApp, type EdgeLoad } from '@offshoot/contract/edge-app'
import {
  certificateBody,
  EDGE_CERTIFICATE_PATH,
  EDGE_HOSTS_PATH,
  EDGE_VERSION_PATH,
  type EdgeHost,
} from '@offshoot/contract/edge-host'
import { EDGE_NAME } from '@offshoot/contract/fleet-identity'
import type { CertificateAuthority } from '@offshoot/kit/x509/certificate-authority'
import { jwtVerify } from 'jose'

const SECRET = Buffer.alloc(32, 9).toString('base64')

type PretendedApp = Omit<EdgeApp, 'as_of'>

/** The part of control that the edge uses. */
export class FakeControl {
  readonly #server: Server
  readonly #streams = new Set<ServerResponse>()
  apps: PretendedApp[] = []
  /** The hosts that have joined. */
  hosts: readonly EdgeHost[] = []
  /** Signs the certificates of edges. Absent: control refuses. */
  authority: CertificateAuthority | undefined
  /** Of what the fleet trusts. `undefined`: an earlier version of control, which counts none. */
  trustVersion: number | undefined
  /** Trusted beside the authority that signs. */
  furtherAuthority = ''
  /** What edges have said of themselves, the newest last. */
  readonly edgeVersions: unknown[] = []
  /** Answers an edge that asks for a sandbox to be released: the address of its agent. */
  onRelease: (id: string) => string | null = () => null
  readonly #hostStreams = new Set<ServerResponse>()
  #reads = 0
  /** Load reports received, the newest last. */
  readonly loads: EdgeLoad[] = []

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<FakeControl> {
    const control = new FakeControl()
    control.#server.listen(0, '127.0.0.1')
    await once(control.#server, 'listening')
    return control
  }

  /** For the configuration of an edge. */
  get access(): { readonly url: string; readonly secret: string } {
    return { url: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`, secret: SECRET }
  }

  tellHosts(hosts: readonly EdgeHost[]): void {
    this.hosts = hosts
    for (const stream of this.#hostStreams) this.#send(stream, 'hosts', hosts)
  }

  tell(app: PretendedApp): void {
    this.know(app)
    for (const stream of this.#streams) this.#send(stream, 'app', this.#read(app))
  }

  /** Sends a state older than all states sent before. */
  tellLate(app: PretendedApp): void {
    for (const stream of this.#streams) this.#send(stream, 'app', { ...app, as_of: 0 })
  }

  tellGone(id: string): void {
    this.apps = this.apps.filter((app) => app.id !== id)
    for (const stream of this.#streams) this.#send(stream, 'gone', { id })
  }

  /** Changes the state without an event to the edge. */
  know(app: PretendedApp): void {
    this.apps = [...this.apps.filter(({ id }) => id !== app.id), app]
  }

  #read(app: PretendedApp): EdgeApp {
    this.#reads += 1
    return { ...app, as_of: this.#reads }
  }

  cut(): void {
    for (const stream of this.#streams) stream.destroy()
    this.#streams.clear()
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, url } = request
    const token = (headers.authorization ?? '').slice('Bearer '.length)
    const verified = await jwtVerify(token, Buffer.from(SECRET, 'base64')).catch(() => null)
    const known = verified?.protectedHeader.kid === EDGE_KEY_ID
    const asked = this.apps.find(({ id }) => url === `${EDGE_APPS_PATH}/${id}`)
    const [, id] = /^\/internal\/sandboxes\/([^/]+)\/release$/.exec(url ?? '') ?? []
    const released = id === undefined ? null : this.onRelease(id)
    if (known && url === EDGE_LOAD_PATH) {
      this.loads.push((await json(request)) as EdgeLoad)
      response.writeHead(204).end()
    } else if (known && url === EDGE_APPS_PATH) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      this.#streams.add(response)
      this.#send(
        response,
        'all',
        this.apps.map((app) => this.#read(app)),
      )
    } else if (known && url === EDGE_HOSTS_PATH) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      this.#hostStreams.add(response)
      this.#send(response, 'hosts', this.hosts)
    } else if (known && url?.split('?')[0] === EDGE_CERTIFICATE_PATH && this.authority !== undefined) {
      const body = certificateBody.parse(await json(request))
      const certificate = await this.authority.sign(body.request, EDGE_NAME, 3_600, this.trustVersion?.toString())
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ certificate, authority: this.authority.certificate + this.furtherAuthority }))
    } else if (known && url === EDGE_VERSION_PATH && this.trustVersion !== undefined) {
      this.edgeVersions.push(await json(request))
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ version: this.trustVersion }))
    } else if (known && released !== null) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ agent_url: released }))
    } else if (known && asked !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.#read(asked)))
    } else response.writeHead(404).end()
  }

  #send(stream: ServerResponse, event: string, data: unknown): void {
    stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
}

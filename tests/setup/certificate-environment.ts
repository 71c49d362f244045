import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { DnsServer } from '@offshoot/control/test/dns-server'
import { call, eventually, Harness, type RunningControl, type Tenant } from '@offshoot/control/test/harness'
import { LocalAuthority } from '@offshoot/edge/certificates/local-authority'
import { AcmeServer } from '@offshoot/edge/test/acme-server'
import { EdgeUnderTest } from '@offshoot/edge/test/edge-under-test'
import { findFreePort } from '@offshoot/kit/free-port'
import { expect } from 'vitest'

const SECRET = Buffer.alloc(32, 7).toString('base64')
const MAIN = fileURLToPath(import.meta.resolve('@offshoot/control/main'))

export const domainsOf = (app: string) => `/v1/apps/${app}/domains`

interface Parts {
  readonly folder: string
  readonly authority: LocalAuthority
  readonly acme: AcmeServer
  readonly dns: DnsServer
  readonly harness: Harness
  /** Serves the API and the edge. Another process orders the certificates. */
  readonly api: RunningControl
  readonly edge: EdgeUnderTest
  readonly alice: Tenant
  readonly sights: Sights
}

/** The authority's view of the network. */
class Sights {
  edge: EdgeUnderTest | undefined
  /** Replaces the edge's answer, if set. */
  shown: string | undefined
  /** Fetched addresses, without the scheme. */
  readonly fetched: string[] = []

  /** Fetches by HTTP. Only the domain decides which server answers. */
  async fetch(domain: string, token: string): Promise<string> {
    if (this.shown !== undefined) return this.shown
    const path = `/.well-known/acme-challenge/${token}`
    this.fetched.push(domain + path)
    const answer = await this.edge?.ask(1, path, { headers: { host: domain } })
    return answer?.status === 200 ? answer.body : ''
  }
}

/** An authority, a name server, control and an edge: everything that certificates of domains need, without a VM. */
export class CertificateEnvironment {
  readonly parts: Parts
  /** Id of an app of the user alice. */
  app = ''
  #orderer: RunningControl | undefined
  #child: ChildProcess | undefined

  private constructor(parts: Parts) {
    this.parts = parts
  }

  static async start(): Promise<CertificateEnvironment> {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-certificates-'))
    const authority = await LocalAuthority.open(join(folder, 'ca'))
    const sights = new Sights()
    const acme = await AcmeServer.start(authority, { fetch: (domain, token) => sights.fetch(domain, token) })
    const dns = await DnsServer.start()
    const harness = await Harness.start()
    const api = await harness.control([], { edge_secret: SECRET, dns_servers: [dns.address] })
    const alice = await harness.tenant(api, 'alice')
    const edge = await EdgeUnderTest.start({}, { control: { url: api.url, secret: SECRET } })
    sights.edge = edge
    const world = new CertificateEnvironment({ folder, authority, acme, dns, harness, api, edge, alice, sights })
    world.app = await world.created()
    await world.startOrdering()
    return world
  }

  async stop(): Promise<void> {
    const { edge, harness, acme, dns, folder } = this.parts
    this.#child?.kill('SIGKILL')
    await edge.stop()
    await harness.stop()
    acme.stop()
    dns.stop()
    await rm(folder, { recursive: true })
  }

  async startOrdering(): Promise<void> {
    this.#orderer = await this.parts.harness.control([], this.#acmeSettings)
  }

  async stopOrdering(): Promise<void> {
    await this.#orderer?.stop()
  }

  /** Orders in a separate process, which a test can kill. */
  async orderInProcess(): Promise<ChildProcess> {
    const path = join(this.parts.folder, 'control.json')
    const listen = { host: '127.0.0.1', port: await findFreePort() }
    const address = { listen, public_url: `http://127.0.0.1:${listen.port}`, agents: [], log_level: 'silent' }
    await writeFile(path, JSON.stringify({ ...this.parts.harness.settings, ...this.#acmeSettings, ...address }))
    this.#child = spawn(process.execPath, [MAIN, path], { stdio: ['ignore', 'ignore', 'inherit'] })
    return this.#child
  }

  get #acmeSettings() {
    return { acme: { directory_url: `${this.parts.acme.url}/directory` } }
  }

  as(method: string, path: string, body?: unknown) {
    const { api, alice } = this.parts
    return call(api.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  }

  add(domain: string, more = {}, app = this.app) {
    return this.as('POST', domainsOf(app), { domain, ...more })
  }

  async created(): Promise<string> {
    const body = { git_url: 'https://git.example.com/site', name: randomUUID() }
    return (await this.as('POST', '/v1/apps', body)).body.id
  }

  async prove(domain: string, app = this.app): Promise<void> {
    const { record } = (await this.add(domain, {}, app)).body
    this.parts.dns.texts.set(record.name, [record.value])
    expect((await this.add(domain, {}, app)).body.status).toBe('verified')
  }

  async certificateOf(domain: string, app = this.app) {
    const { body } = await this.as('GET', domainsOf(app))
    return body.find((each: { domain: string }) => each.domain === domain).certificate
  }

  /** Waits until the domain's certificate has this status. */
  until(status: 'ready' | 'failed', domain: string, app = this.app) {
    return eventually(async () => {
      const certificate = await this.certificateOf(domain, app)
      return certificate?.status === status && certificate
    })
  }

  /** The certificate that a visitor sees who trusts `ca`, by default the authority. */
  async shownTo(domain: string, ca?: string) {
    const trusted = ca ?? (await readFile(join(this.parts.folder, 'ca/authority.pem'), 'utf8'))
    const { port } = this.parts.edge
    const options = { host: '127.0.0.1', port, servername: domain, ca: trusted, rejectUnauthorized: false }
    const socket = connect(options)
    await once(socket, 'secureConnect')
    const { fingerprint256 } = socket.getPeerCertificate()
    socket.destroy()
    return { isTrusted: socket.authorized, fingerprint: fingerprint256 }
  }

  async isTrusted(domain: string): Promise<boolean> {
    return (await this.shownTo(domain)).isTrusted
  }
}

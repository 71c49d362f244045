/**
 * @module-tag long
 *
 * The certificate of the API's own name. Control runs as a process of its own, as `bin/up` starts it, and proves the
 * name to an authority that speaks RFC 8555.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { eventually, Harness } from '@offshoot/control/test/harness'
import { LocalAuthority } from '@offshoot/edge/certificates/local-authority'
import { AcmeServer } from '@offshoot/edge/test/acme-server'
import { EdgeUnderTest } from '@offshoot/edge/test/edge-under-test'
import { findFreePort } from '@offshoot/kit/free-port'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

const MAIN = fileURLToPath(import.meta.resolve('@offshoot/control/main'))
const NAME = 'api.example.com'
const SECRET = Buffer.alloc(32, 7).toString('base64')

let folder: string
let ca: string
let acme: AcmeServer
let harness: Harness
let ports: { readonly plain: number; readonly tls: number; readonly http: number }
let child: ChildProcess | undefined
let log = ''
/** Replaces what the authority sees at port 80 of the name, if set. */
let shown: string | undefined
/** If set, port 80 of the name leads to this edge. */
let edge: EdgeUnderTest | undefined

/** What another machine gets at port 80 of the name. */
async function get(path: string, method = 'GET') {
  const sent = request({ host: '127.0.0.1', port: ports.http, path, method, headers: { host: NAME } })
  sent.end()
  const [answer] = await once(sent, 'response')
  return { status: answer.statusCode, location: answer.headers.location, body: await text(answer) }
}

async function fetchProof(domain: string, token: string): Promise<string> {
  if (shown !== undefined) return shown
  if (domain !== NAME) return ''
  const path = `/.well-known/acme-challenge/${token}`
  return (await (edge === undefined ? get(path) : edge.ask(1, path, { headers: { host: NAME } }))).body
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-own-certificate-'))
  const authority = await LocalAuthority.open(join(folder, 'ca'))
  ca = await readFile(join(folder, 'ca/authority.pem'), 'utf8')
  acme = await AcmeServer.start(authority, { fetch: fetchProof })
  harness = await Harness.start()
  ports = { plain: await findFreePort(), tls: await findFreePort(), http: await findFreePort() }
})
afterEach(() => stop())
afterAll(async () => {
  await harness.stop()
  acme.stop()
  await rm(folder, { recursive: true })
})

async function start(httpPort: number | null = ports.http): Promise<void> {
  const path = join(folder, 'control.json')
  const tls = {
    acme: { directory_url: `${acme.url}/directory`, http_port: httpPort },
    host: '127.0.0.1',
    port: ports.tls,
  }
  const listen = { host: '127.0.0.1', port: ports.plain }
  const own = { listen, public_url: `https://${NAME}`, agents: [], edge_secret: SECRET, log_level: 'info', tls }
  await writeFile(path, JSON.stringify({ ...harness.settings, ...own }))
  log = ''
  child = spawn(process.execPath, [MAIN, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout?.on('data', (chunk: Buffer) => (log += chunk.toString()))
}

async function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const ended = child
  child = undefined
  if (ended === undefined) return
  ended.kill(signal)
  await once(ended, 'exit')
}

/** Fingerprint of the certificate that a client gets who trusts the authority; `null`: the connection is refused. */
async function fingerprint(): Promise<string | null> {
  const socket = connect({ host: '127.0.0.1', port: ports.tls, servername: NAME, ca })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerCertificate().fingerprint256
  } catch {
    return null
  } finally {
    socket.destroy()
  }
}

async function metric(name: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${ports.plain}/metrics`)
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await answer.text())?.[1])
}

const renew = () =>
  harness.pool.query('update app_certificates set due_at = now() where domain = $1 and app_id is null', [NAME])

describe('the certificate of the API', () => {
  it('is missing while the name cannot be proved, and metrics and log say so', async () => {
    shown = 'the page of somebody else'
    await start()
    await eventually(async () => log.includes(`no proof of ${NAME}`))
    expect(await fingerprint()).toBe(null)
    expect(await metric('offshoot_tls_certificate_order_failures')).toBeGreaterThan(0)
    expect(await metric('offshoot_tls_certificate_expires_at_seconds')).toBe(0)
    expect(log).toContain('there is no certificate yet')
  })

  it('is ordered and served, also after control was killed in the middle of the order', async () => {
    shown = undefined
    const held = acme.holdNext('finalize')
    await start()
    await renew()
    await held
    await stop('SIGKILL')
    await start()
    const first = await eventually(fingerprint)
    expect(first).toMatch(/^[0-9A-F:]+$/)
    expect(acme.issued).toEqual([[NAME]])
    expect(await metric('offshoot_tls_certificate_order_failures')).toBe(0)
    expect(await metric('offshoot_tls_certificate_expires_at_seconds')).toBeGreaterThan(Date.now() / 1_000)
    const { rows } = await harness.pool.query('select c::text as row from app_certificates c')
    expect(rows[0].row).not.toContain('PRIVATE KEY')
  })

  it('is still there after a restart, and no other one is ordered', async () => {
    const orders = acme.ordered.length
    await start()
    const first = await eventually(fingerprint)
    await stop()
    await start()
    expect(await eventually(fingerprint)).toBe(first)
    expect(acme.ordered).toHaveLength(orders)
  })

  it('is replaced by a renewal, and stays if that fails', async () => {
    await start()
    const first = await eventually(fingerprint)
    await renew()
    const second = await eventually(async () => {
      const now = await fingerprint()
      return now !== first && now
    })
    shown = ''
    await renew()
    await eventually(async () => log.includes(`no proof of ${NAME}`))
    shown = undefined
    expect(await fingerprint()).toBe(second)
    expect(await metric('offshoot_tls_certificate_order_failures')).toBe(1)
  })

  it('comes as well if port 80 of the name leads to the edge', async () => {
    edge = await EdgeUnderTest.start(
      {},
      { control: { url: `http://127.0.0.1:${ports.plain}`, secret: SECRET, public_url: `https://${NAME}` } },
    )
    await start(null)
    const first = await eventually(fingerprint)
    await renew()
    await eventually(async () => (await fingerprint()) !== first)
    expect(
      (await edge.ask(1, '/.well-known/acme-challenge/abcdefghijklmnopqrstuv', { headers: { host: NAME } })).body,
    ).not.toContain('abcdefghijklmnopqrstuv')
    await edge.stop()
    edge = undefined
  })
})

it('port 80 sends browsers to the address with TLS, and serves nothing', async () => {
  await start()
  await eventually(async () => log.includes('answering the ACME authority'))
  expect(await get('/console?a=b')).toEqual({ status: 308, location: `https://${NAME}/console?a=b`, body: '' })
  expect((await get('http://evil.example.com/')).location).toBe(`https://${NAME}/`)
  expect((await get('/v1/sandboxes', 'POST')).status).toBe(403)
  expect((await get('/.well-known/acme-challenge/abcdefghijklmnopqrstuv')).status).toBe(404)
})

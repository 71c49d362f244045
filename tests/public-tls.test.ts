/** @module-tag long */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LocalAuthority } from '@offshoot/edge/certificates/local-authority'
import { findFreePort } from '@offshoot/kit/free-port'
import { WebSocket } from 'ws'
import { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let folder: string
let authority: LocalAuthority
let ca: string
let port: number
let offshoot: Offshoot

/** Replaces the files with a certificate for this name. */
async function certify(name: string): Promise<void> {
  const { cert, key } = await authority.issue([name, 'localhost'])
  await writeFile(join(folder, 'key'), key)
  await writeFile(join(folder, 'cert'), cert)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-tls-'))
  authority = await LocalAuthority.open(join(folder, 'ca'))
  ca = await readFile(join(folder, 'ca/authority.pem'), 'utf8')
  await certify('first.test')
  port = await findFreePort()
  const tls = { cert: join(folder, 'cert'), key: join(folder, 'key'), host: '127.0.0.1', port }
  offshoot = await Offshoot.start('public-tls', { settings: { tls, public_url: `https://localhost:${port}` } })
})
afterAll(async () => {
  await offshoot?.destroy()
  await rm(folder, { recursive: true })
})

/** Names of the certificate that a new connection gets. */
async function names(): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  socket.once('secureConnect', () => resolve(socket.getPeerCertificate().subjectaltname ?? ''))
  socket.once('error', reject)
  return promise.finally(() => socket.destroy())
}

async function get(path: string, method = 'GET'): Promise<{ status: number | undefined; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; body: string }>()
  const headers = { authorization: `Bearer ${offshoot.credentials.api_key}`, expect: '100-continue' }
  const sent = request({ host: 'localhost', port, path, method, ca, headers }, (answer) => {
    let body = ''
    answer.on('data', (chunk: Buffer) => (body += chunk.toString()))
    answer.on('end', () => resolve({ status: answer.statusCode, body }))
  })
  sent.on('error', reject)
  sent.end()
  return promise
}

describe('the public port with TLS', () => {
  it('serves the API, its upgrades and its refusals, and the plain address stays for the other processes', async () => {
    expect(await get('/v1/sandboxes')).toEqual({ status: 200, body: '[]' })
    expect((await get('/v1/nothing')).status).toBe(404)
    expect((await offshoot.request('GET', '/v1/sandboxes')).status).toBe(200)
    const { id } = await offshoot.create()
    const address = `wss://localhost:${port}/v1/sandboxes/${id}/exec/ws`
    const socket = new WebSocket(address, { ca, headers: { authorization: `Bearer ${offshoot.credentials.api_key}` } })
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    expect(socket.readyState).toBe(WebSocket.OPEN)
    socket.terminate()
    await offshoot.delete(id)
  })

  it('gets a new certificate without a restart, and keeps the earlier one while the files do not fit', async () => {
    expect(await names()).toContain('first.test')
    await writeFile(join(folder, 'cert'), 'half of a certificate')
    await until('the refusal of the file', async () =>
      (await offshoot.log('control')).includes('the earlier one stays'),
    )
    expect(await names()).toContain('first.test')
    await certify('second.test')
    expect(await until('the second certificate', async () => (await names()).includes('second.test'))).toBe(true)
    expect((await get('/v1/sandboxes')).status).toBe(200)
  })
})

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer, type PeerCertificate, type SecureContext, type Server } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Certificates } from './certificates.ts'
import { openDatabaseCertificates } from './database-certificates.ts'
import { LocalAuthority } from './local-authority.ts'

const SUFFIX = 'example.com'
let folder: string
let ca: string
let previews: Certificates
const servers: Server[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-database-certificates-'))
  const authority = await LocalAuthority.open(folder)
  ca = await readFile(join(folder, 'authority.pem'), 'utf8')
  const pem = await authority.issue(['previews.test'])
  previews = { default: pem, forName: () => Promise.reject(new Error('not asked')) }
})
afterAll(async () => {
  for (const server of servers) server.close()
  await rm(folder, { recursive: true, force: true })
})

async function serve(suffix: string | null): Promise<number> {
  const databases = { listen: { host: '127.0.0.1', port: 0 }, suffix, per_database: 1, connections: 1 }
  const { default: pem, forName } = await openDatabaseCertificates({ databases, data_dir: folder }, previews)
  const SNICallback = (name: string, done: (error: Error | null, context?: SecureContext) => void) =>
    // Node wants a callback.
    // oxlint-disable-next-line promise/no-callback-in-promise
    void forName(name).then((context) => done(null, context), done)
  const server = createServer({ ...pem, SNICallback }, (socket) => socket.end())
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** Verifies as libpq does with `sslmode=verify-full`. */
async function verified(port: number, servername?: string): Promise<PeerCertificate> {
  const socket = connect({ host: '127.0.0.1', port, ca, ...(servername !== undefined && { servername }) })
  await once(socket, 'secureConnect')
  const peer = socket.getPeerCertificate()
  socket.destroy()
  return peer
}

describe('the port of databases', () => {
  it('shows each database a certificate and a key of its own, which hold for its name alone', async () => {
    const port = await serve(SUFFIX)
    const [first, second] = [randomUUID(), randomUUID()].map((id) => `${id}.db.${SUFFIX}`)
    const [one, other, again] = [await verified(port, first), await verified(port, second), await verified(port, first)]
    expect([one, other].map(({ subjectaltname: names }) => names)).toEqual([`DNS:${first}`, `DNS:${second}`])
    expect(one.pubkey).not.toEqual(other.pubkey)
    expect(again.fingerprint256).toBe(one.fingerprint256)
    for (const name of ['previews.test', `x.db.${SUFFIX}`, `${randomUUID()}.db.example.org`])
      await expect(verified(port, name)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  it('shows one for its address to who asks for no name', async () => {
    for (const suffix of [null, SUFFIX])
      expect((await verified(await serve(suffix))).subjectaltname).toBe('IP Address:127.0.0.1')
  })

  it("shows the operator's own where there is one", async () => {
    const databases = { listen: { host: '127.0.0.1', port: 0 }, suffix: SUFFIX, per_database: 1, connections: 1 }
    const certificate = { cert: '/cert', key: '/key' }
    expect(await openDatabaseCertificates({ databases, certificate, data_dir: folder }, previews)).toBe(previews)
  })
})

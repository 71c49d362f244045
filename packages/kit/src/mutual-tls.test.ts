import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  admitPeers,
  connectToPeer,
  MutualTls,
  type Peer,
  peerConnector,
  peerNameOf,
  replaceIdentity,
  resetConnection,
  TLS_OPTIONS,
} from './mutual-tls.ts'
import { CertificateAuthority, makeAuthority } from './x509/certificate-authority.ts'
import { certificateRequest, makePrivateKey } from './x509/certificate-request.ts'

const HALF_OPEN = { allowHalfOpen: true }

async function identityOf(authority: CertificateAuthority, name: string, seconds = 3600, trusted = authority) {
  const key = makePrivateKey()
  const cert = await authority.sign(await certificateRequest(key), name, seconds)
  return { cert, key, ca: trusted.certificate }
}

const trusting = async (ca: string, ...of: Parameters<typeof identityOf>) => ({ ...(await identityOf(...of)), ca })

/** The error of a connection for a pool. */
function resultOf(peer: Peer): Promise<unknown> {
  return new Promise((resolve) => {
    peerConnector(peer, 30_000)({}, (...[error]) => resolve(error))
  })
}

async function mutualTls(...identity: Parameters<typeof identityOf>): Promise<MutualTls> {
  const tls = new MutualTls()
  tls.set(await identityOf(...identity))
  return tls
}

describe('TLS in which both sides have a certificate', () => {
  let authority: CertificateAuthority
  let server: ReturnType<typeof createServer>
  let accepted: Socket[]
  let names: (string | null)[]

  beforeEach(async () => {
    authority = await CertificateAuthority.open(await makeAuthority('Test'))
    accepted = []
    names = []
    const tls = { requestCert: true, rejectUnauthorized: true, ...TLS_OPTIONS }
    server = createServer({ ...(await identityOf(authority, 'host.example')), ...tls })
    server.on('upgrade', (_request, stream) => {
      const socket = stream as Socket
      accepted.push(socket.on('error', () => undefined))
      names.push(peerNameOf(socket))
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: test\r\n\r\n')
    })
    server.on('tlsClientError', () => undefined)
    admitPeers(server, ['control.example'])
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })

  afterEach(async () => {
    for (const socket of accepted) socket.destroy()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  const peer = (identity: MutualTls, name = 'host.example') => ({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    tls: { identity, name },
  })
  const ask = (tls: MutualTls, name?: string) => {
    const socket = connectToPeer(peer(tls, name), HALF_OPEN)
    socket.write('GET / HTTP/1.1\r\nhost: host\r\nconnection: Upgrade\r\nupgrade: test\r\n\r\n')
    return socket
  }
  const open = async (tls: MutualTls, name?: string) => {
    const socket = ask(tls, name)
    await once(socket, 'data')
    return socket
  }
  /** Whether the server ends the connection without an answer. */
  const isRefused = async (tls: MutualTls) => {
    const socket = ask(tls)
    const closed = await Promise.race([once(socket, 'error').then(() => ''), text(socket).catch(() => '')])
    return closed === ''
  }

  it('lets each direction end alone', async () => {
    const socket = await open(await mutualTls(authority, 'control.example'))
    const [other] = accepted
    const received = text(other as Socket)
    socket.end('question')
    expect(await received).toBe('question')
    const answer = text(socket)
    other?.end('answer')
    expect(await answer).toBe('answer')
    expect(names).toEqual(['control.example'])
  })

  it('passes a reset on as a reset', async () => {
    const socket = await open(await mutualTls(authority, 'control.example'))
    const broken = once(socket, 'error')
    resetConnection(accepted[0] as Socket)
    expect((await broken)[0]).toMatchObject({ code: 'ECONNRESET' })
    const second = await open(await mutualTls(authority, 'control.example'))
    const brokenThere = once(accepted[1] as Socket, 'error')
    resetConnection(second)
    expect((await brokenThere)[0]).toMatchObject({ code: 'ECONNRESET' })
  })

  it('refuses a caller with another name, of another authority, or whose certificate has expired', async () => {
    const foreign = await CertificateAuthority.open(await makeAuthority('Test'))
    for (const caller of [
      await mutualTls(authority, 'other.example'),
      await mutualTls(foreign, 'control.example', 3600, authority),
      await mutualTls(authority, 'control.example', -60),
    ]) {
      expect(await isRefused(caller)).toBe(true)
    }
    expect(accepted).toEqual([])
  })

  it('sends nothing to a server with another name or of another authority', async () => {
    const foreign = await CertificateAuthority.open(await makeAuthority('Test'))
    const caller = await mutualTls(authority, 'control.example')
    const distrustful = await mutualTls(authority, 'control.example', 3600, foreign)
    await expect(open(caller, 'elsewhere.example')).rejects.toThrow(/altnames/)
    await expect(open(distrustful)).rejects.toThrow(/certificate/)
    expect(accepted).toEqual([])
  })

  it('calls a connection without an identity, or to nobody, one that was never established', async () => {
    expect(await resultOf(peer(new MutualTls()))).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' })
    const caller = await mutualTls(authority, 'control.example')
    expect(await resultOf(peer(caller, 'elsewhere.example'))).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' })
  })

  it('takes a renewed certificate for the next connection', async () => {
    const tls = await mutualTls(authority, 'other.example')
    tls.set(await identityOf(authority, 'control.example'))
    const socket = (await open(tls)) as TLSSocket
    expect(socket.authorized).toBe(true)
    server.setSecureContext({ ...(await identityOf(authority, 'renewed.example')), ...TLS_OPTIONS })
    await expect(open(tls)).rejects.toThrow(/altnames/)
    expect((await open(tls, 'renewed.example')).destroyed).toBe(false)
  })

  describe('while the authority is replaced', () => {
    let next: CertificateAuthority
    let both: string

    beforeEach(async () => {
      // The name is the same. The keys tell the authorities apart.
      next = await CertificateAuthority.open(await makeAuthority('Test'))
      both = authority.certificate + next.certificate
    })

    it('trusts both, and each side may have a certificate of either', async () => {
      for (const ofServer of [authority, next]) {
        replaceIdentity(server, await trusting(both, ofServer, 'host.example'))
        for (const ofCaller of [authority, next]) {
          const caller = new MutualTls()
          caller.set(await trusting(both, ofCaller, 'control.example'))
          expect((await open(caller)).destroyed).toBe(false)
        }
      }
    })

    it('ends the connections of callers with a certificate of the old one, and no others', async () => {
      replaceIdentity(server, await trusting(both, next, 'host.example'))
      const [old, renewed] = [new MutualTls(), new MutualTls()]
      old.set(await trusting(both, authority, 'control.example'))
      renewed.set(await trusting(both, next, 'control.example'))
      const [cut, kept] = [await open(old), await open(renewed)]
      const failed = once(cut, 'error')
      replaceIdentity(server, await trusting(next.certificate, next, 'host.example'))
      expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' })
      expect(kept.destroyed).toBe(false)
      expect(await isRefused(old)).toBe(true)
      expect((await open(renewed)).destroyed).toBe(false)
    })

    it('ends the connections to servers with a certificate of the old one, and no others', async () => {
      replaceIdentity(server, await trusting(both, authority, 'host.example'))
      const tls = new MutualTls()
      tls.set(await trusting(both, next, 'control.example'))
      const cut = await open(tls)
      replaceIdentity(server, await trusting(both, next, 'host.example'))
      const kept = await open(tls)
      const failed = once(cut, 'error')
      tls.set(await trusting(next.certificate, next, 'control.example'))
      expect((await failed)[0]).toMatchObject({ code: 'ECONNABORTED' })
      expect(kept.destroyed).toBe(false)
      replaceIdentity(server, await trusting(both, authority, 'host.example'))
      await expect(open(tls)).rejects.toThrow(/certificate/)
    })

    it('ends a connection whose handshake began before', async () => {
      replaceIdentity(server, await trusting(both, authority, 'host.example'))
      const tls = new MutualTls()
      tls.set(await trusting(both, next, 'control.example'))
      const socket = connectToPeer(peer(tls), HALF_OPEN)
      tls.set(await trusting(next.certificate, next, 'control.example'))
      expect((await once(socket, 'error'))[0]).toMatchObject({ code: 'ECONNABORTED' })
    })

    it('gives a pool no connection whose handshake began before', async () => {
      replaceIdentity(server, await trusting(both, authority, 'host.example'))
      const tls = new MutualTls()
      tls.set(await trusting(both, next, 'control.example'))
      const settled = await trusting(next.certificate, next, 'control.example')
      const result = resultOf(peer(tls))
      tls.set(settled)
      expect(await result).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' })
    })
  })
})

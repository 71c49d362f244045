/**
 * TLS between processes of one fleet, in which both sides present a certificate of the same authority. A certificate has
 * one DNS name, which names a role and not an address.
 */
import type { X509Certificate } from 'node:crypto'
import { connect, type Server as NetServer, type Socket } from 'node:net'
import {
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls'
import { certificatesIn, isIssuedBy } from './issued-certificates.ts'

/** In PEM: what a process presents, and the authorities that it trusts, one after the other. */
export interface TlsIdentity {
  readonly cert: string
  readonly key: string
  readonly ca: string
}

/** The parameters of every such connection. */
export const TLS_OPTIONS = { minVersion: 'TLSv1.3' } as const

/** This process has no certificate yet, so it reaches nobody. */
export class NoIdentity extends Error {
  override readonly name = 'NoIdentity'
  /** Callers treat it as an outage of the other side. */
  readonly code = 'EHOSTUNREACH'

  constructor() {
    super('this process has no certificate yet')
  }
}

/** The connections of a process, each of which ends when the authority of its other side is trusted no more. */
class TrustedPeers {
  readonly #end: (socket: TLSSocket) => void
  readonly #open = new Set<TLSSocket>()
  #authorities: readonly X509Certificate[] | null = null

  constructor(end: (socket: TLSSocket) => void) {
    this.#end = end
  }

  /** @param ca PEM. Trusts these authorities alone from now on. */
  trust(ca: string): void {
    this.#authorities = certificatesIn(ca)
    for (const socket of this.#open) this.#endUntrusted(socket)
  }

  /** @param isVerified the handshake has just verified the other side with the authorities that are trusted now */
  add(socket: TLSSocket, isVerified = false): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    if (!isVerified) this.#endUntrusted(socket)
  }

  #endUntrusted(socket: TLSSocket): void {
    const certificate = socket.getPeerX509Certificate()
    if (this.#authorities === null || (certificate && isIssuedBy(certificate, this.#authorities))) return
    this.#end(socket)
  }
}

/** The authority of the other side has been replaced while the connection was open. */
class AuthorityReplaced extends Error {
  override readonly name = 'AuthorityReplaced'
  readonly code = 'ECONNABORTED'

  constructor() {
    super('the authority of the other side is trusted no more')
  }
}

/** The identity of this process. New connections use the one that was set last. */
export class MutualTls {
  /** Not with a reset: undici would find its socket closed before it hears of the error. */
  readonly peers = new TrustedPeers((socket) => socket.destroy(new AuthorityReplaced()))
  #context: SecureContext | null = null

  /** Ends connections to those whose authority is not among the trusted ones any more. */
  set(identity: TlsIdentity): void {
    this.#context = createSecureContext({ ...identity, ...TLS_OPTIONS })
    this.peers.trust(identity.ca)
  }

  /** @throws NoIdentity before the first certificate */
  get context(): SecureContext {
    if (this.#context === null) throw new NoIdentity()
    return this.#context
  }
}

/** How to reach another process. */
export interface Peer {
  readonly host: string
  readonly port: number
  /** `null`: without TLS, on loopback. `name`: what the other side's certificate must say. */
  readonly tls: { readonly identity: MutualTls; readonly name: string } | null
}

/** The connection below each TLS connection: a TLS socket itself cannot be reset. */
const carriers = new WeakMap<Socket, Socket>()
/** The name of the other side of each accepted TLS connection. */
const peerNames = new WeakMap<Socket, string>()

interface ConnectOptions {
  /** Whether each direction can end alone. */
  readonly allowHalfOpen: boolean
}

/**
 * Opens a connection. It can be written to at once. With TLS it fails before it sends anything if the other side is not
 * the named one.
 * @throws NoIdentity before this process's first certificate
 */
export function connectToPeer({ host, port, tls }: Peer, { allowHalfOpen }: ConnectOptions): Socket {
  const context = tls?.identity.context
  const carrier = connect({ host, port, allowHalfOpen, noDelay: true })
  if (tls === null) return carrier
  const socket = connectTls({
    socket: carrier,
    servername: tls.name,
    ...(context && { secureContext: context }),
    ALPNProtocols: ['http/1.1'],
  })
  carriers.set(socket, carrier)
  socket.once('secureConnect', () => tls.identity.peers.add(socket, tls.identity.context === context))
  carrier.once('error', (error) => socket.destroy(error))
  // Node does not close a given connection with the TLS socket above it.
  socket.once('close', () => carrier.destroy())
  return socket
}

/** As undici wants it. */
type Connected = (...result: [error: null, socket: Socket] | [error: Error, socket: null]) => void

/**
 * Opens a connection for undici's pools, within a time limit. A failed handshake has the code of a connection that was
 * never established, because the other side has received no request.
 */
export function peerConnector(peer: Peer, timeoutMs: number): (_options: unknown, callback: Connected) => void {
  return (_options, callback) => {
    let socket: Socket
    try {
      socket = connectToPeer(peer, { allowHalfOpen: false })
    } catch (error) {
      callback(neverSent(error as Error), null)
      return
    }
    const fail = (error: Error) => {
      socket.destroy()
      clearTimeout(timer)
      callback(neverSent(error), null)
    }
    const timer = setTimeout(() => fail(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs)
    socket.once('error', fail)
    socket.once(peer.tls === null ? 'connect' : 'secureConnect', () => {
      // Its authority was replaced during the handshake. The error comes next, before undici could listen to it.
      if (socket.destroyed) return
      clearTimeout(timer)
      socket.off('error', fail)
      callback(null, socket)
    })
  }
}

/** The code of undici for a connection that was never established. */
function neverSent(cause: Error): Error {
  return Object.assign(new Error(cause.message, { cause }), { code: 'UND_ERR_CONNECT_TIMEOUT' })
}

const admitted = new WeakMap<NetServer, TrustedPeers>()

/** Replaces what a server presents and trusts. Ends connections of those whose authority is not trusted any more. */
export function replaceIdentity(server: NetServer & Pick<TlsServer, 'setSecureContext'>, identity: TlsIdentity): void {
  server.setSecureContext({ ...identity, ...TLS_OPTIONS })
  admitted.get(server)?.trust(identity.ca)
}

/**
 * Closes every connection whose certificate has none of these names. Each direction of the others can end alone, as
 * without TLS.
 */
export function admitPeers(server: NetServer, names: readonly string[]): void {
  const accepted = new Map<string, Socket>()
  // The other side must not take its connection for a complete one.
  const peers = new TrustedPeers(resetConnection)
  admitted.set(server, peers)
  server.on('connection', (carrier: Socket) => {
    const key = keyOf(carrier)
    accepted.set(key, carrier)
    carrier.once('close', () => accepted.delete(key))
  })
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const name = nameIn(socket)
    if (name === undefined || !names.includes(name)) {
      socket.destroy()
      return
    }
    peerNames.set(socket, name)
    // Not before the handshake: a server that allows it then keeps connections that end during the handshake.
    socket.allowHalfOpen = true
    const carrier = accepted.get(keyOf(socket))
    if (carrier !== undefined) carriers.set(socket, carrier)
    peers.add(socket)
  })
}

const keyOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`

function nameIn(socket: TLSSocket): string | undefined {
  if (!socket.authorized) return undefined
  return /^DNS:([a-z0-9.-]+)$/.exec(socket.getPeerX509Certificate()?.subjectAltName ?? '')?.[1]
}

/** The name of the other side of an accepted connection. `null`: it has no TLS. */
export function peerNameOf(socket: Socket): string | null {
  return peerNames.get(socket) ?? null
}

/** Aborts a connection, so that the other side does not take it for a complete one. */
export function resetConnection(socket: Socket): void {
  ;(carriers.get(socket) ?? socket).resetAndDestroy()
}

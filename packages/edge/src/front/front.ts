/**
 * The edge's one port. It detects the protocol from the first bytes of a connection: TLS (then HTTP/2 or HTTP/1.1 by
 * ALPN), HTTP/2 in plain text (RFC 9113, 3.3), or HTTP/1.1.
 */
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls'
import { isWebSocketUpgrade, routeUpgrades } from '@offshoot/kit/http-upgrades'
import type { Certificates } from '../certificates/certificates.ts'
import { answerBadRequest } from './answer-bad-request.ts'
import { asVisitorResponse, type VisitorRequest, type VisitorResponse } from '../http/visitor.ts'

/** Milliseconds for the first bytes of a connection, and for the head of a request. */
const HEAD_MS = 60_000
/** Milliseconds that an idle connection stays open, longer than the usual value of load balancers. */
const KEEP_ALIVE_MS = 75_000
/** Milliseconds for the rest of an answer after the visitor has closed its half. Most such visitors have left. */
const HALF_CLOSED_MS = 5_000
/** Maximum bytes of a request's head. */
const MAX_HEAD_BYTES = 64 * 1024
/** Concurrent requests per HTTP/2 connection. */
const MAX_STREAMS = 128
/** HTTP/2 flow-control window in bytes, per stream and per connection. */
const WINDOW_BYTES = 1024 * 1024

const TLS_HANDSHAKE = 0x16
const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n')

export interface FrontOptions {
  readonly maxConnections: number
  readonly certificates: Certificates
  readonly handle: (request: VisitorRequest, response: VisitorResponse, expectsContinue: boolean) => void
}

export class Front {
  readonly server: Server
  readonly #http2: Http2Server
  readonly #tls: TlsServer
  readonly #serveHttp1: (socket: Socket) => void
  readonly #sessions = new Set<ServerHttp2Session>()

  constructor({ maxConnections, certificates, handle }: FrontOptions) {
    this.server = createHttpServer({
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEAD_MS,
      // An upload may take any time. The server inside ends silent ones.
      requestTimeout: 0,
      maxHeaderSize: MAX_HEAD_BYTES,
      noDelay: true,
      shouldUpgradeCallback: isWebSocketUpgrade,
    })
    this.server.maxConnections = maxConnections
    this.server.on('clientError', answerBadRequest)
    this.server.on('request', (request, response) => handle(request, response, false))
    this.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
      handle(request, response, true),
    )
    routeUpgrades(this.server, (request, response) => handle(request, response, false))
    this.#http2 = this.#createHttp2(handle)
    this.#tls = createTlsServer({
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: HEAD_MS,
      ...certificates.default,
      // Node wants a callback.
      // oxlint-disable-next-line promise/no-callback-in-promise
      SNICallback: (name, done) => void certificates.forName(name).then((context) => done(null, context), done),
    })
    this.#tls.on('secureConnection', (socket) => this.#onSecure(socket))
    this.#tls.on('tlsClientError', (_error, socket) => socket.destroy())
    // Replaces Node's connection listener, because the edge inspects the first bytes before it serves a connection.
    const [serve] = this.server.listeners('connection')
    this.#serveHttp1 = (socket) => {
      socket.once('end', () => giveUpSoon(socket))
      serve?.call(this.server, socket)
    }
    // By default, Node closes the connection when the visitor closes its half.
    ;(this.server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true
    this.server.removeAllListeners('connection')
    this.server.on('connection', (socket) => this.#onConnection(socket))
  }

  /** Closes idle connections and lets the others finish. */
  close(): void {
    this.server.close()
    for (const session of this.#sessions) session.close()
  }

  /** Closes all connections. */
  closeNow(): void {
    this.server.closeAllConnections()
    for (const session of this.#sessions) session.destroy()
  }

  #onConnection(socket: Socket): void {
    socket.setTimeout(HEAD_MS, () => socket.destroy())
    socket.once('error', () => socket.destroy())
    const leave = () => socket.destroy()
    socket.once('end', leave)
    socket.once('data', (first) => {
      socket.off('end', leave)
      socket.setTimeout(0)
      socket.pause()
      socket.unshift(first)
      const isHttp2 = first.subarray(0, HTTP2_PREFACE.length).equals(HTTP2_PREFACE)
      if (first[0] !== TLS_HANDSHAKE && !isHttp2) this.#serveHttp1(socket)
      else {
        // Neither server supports half-open connections.
        socket.allowHalfOpen = false
        const server = isHttp2 ? this.#http2 : this.#tls
        server.emit('connection', socket)
      }
      process.nextTick(() => socket.resume())
    })
  }

  #onSecure(socket: TLSSocket): void {
    if (socket.alpnProtocol === 'h2') this.#http2.emit('connection', socket)
    else this.#serveHttp1(socket)
  }

  #createHttp2(handle: FrontOptions['handle']): Http2Server {
    const server = createHttp2Server({
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        initialWindowSize: WINDOW_BYTES,
        maxHeaderListSize: MAX_HEAD_BYTES,
      },
    })
    server.on('request', (request, response) => handle(request, asVisitorResponse(response), false))
    server.on('checkContinue', (request, response) => handle(request, asVisitorResponse(response), true))
    server.on('session', (session) => this.#onSession(session))
    server.on('sessionError', () => undefined)
    return server
  }

  #onSession(session: ServerHttp2Session): void {
    let streams = 0
    session.setLocalWindowSize(WINDOW_BYTES)
    session.on('stream', (stream) => {
      streams += 1
      stream.once('close', () => (streams -= 1))
      // The error of a reset stream. Its request gets it too.
      stream.on('error', () => undefined)
    })
    session.setTimeout(KEEP_ALIVE_MS, () => streams === 0 && session.close())
    this.#sessions.add(session)
    session.once('close', () => this.#sessions.delete(session))
  }
}

function giveUpSoon(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), HALF_CLOSED_MS)
  socket.once('close', () => clearTimeout(timer))
}

/**
 * The database port: parses PostgreSQL's protocol until the user and database are known, then joins the two
 * connections.
 *
 *     (connected) ──SSLRequest, or TLS at once──► (encrypted) ──start-up──► joined with the server inside
 *          ├──GSSENCRequest──► (connected), refused: no GSS encryption
 *          └──cancel request (encrypted or not)──► forwarded, closed
 *
 * Except for cancel requests, the edge forwards nothing that a client sends without encryption. Authentication is
 * between client and server; the edge only forwards it.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import type { Certificates } from '../certificates/certificates.ts'
import { CancelKeys } from './cancel-keys.ts'
import { ConnectionRefused, errorResponse, SQLSTATE, UNREACHABLE } from './error-response.ts'
import { type Databases, openDatabase } from './open-database.ts'
import { StartupAnswers } from './startup-answers.ts'
import { type FirstPacket, MAX_PACKET_BYTES, readFirstPacket, startupPacket } from './startup-packet.ts'
import { requestedDatabase } from './requested-database.ts'

/** Milliseconds until the client's startup packet. */
const STARTUP_MS = 30_000
/** Milliseconds of silence before TCP keepalive probes. */
const KEEP_ALIVE_MS = 60_000
/** Milliseconds for a cancel request, which has no answer. */
const CANCEL_MS = 5_000
const TLS_HANDSHAKE = 0x16

export interface DatabaseFrontOptions {
  readonly suffix: string | null
  readonly databases: Databases
  readonly certificates: Certificates
  /** Milliseconds that a client waits for a database to wake. */
  readonly wakeMs: number
  readonly perDatabase: number
  readonly maxConnections: number
  readonly log: Logger
}

type Startup = Extract<FirstPacket, { kind: 'startup' }>

export class DatabaseFront {
  readonly server: Server
  readonly #tls: TlsServer
  readonly #options: DatabaseFrontOptions
  readonly #keys = new CancelKeys()
  readonly #open = new Set<Socket>()
  readonly #perDatabase = new Map<SandboxId, number>()

  constructor(options: DatabaseFrontOptions) {
    this.#options = options
    const { certificates } = options
    this.#tls = createTlsServer({
      // libpq 17 and later request this ALPN protocol.
      ALPNProtocols: ['postgresql'],
      handshakeTimeout: STARTUP_MS,
      ...certificates.default,
      // Node wants a callback.
      // oxlint-disable-next-line promise/no-callback-in-promise
      SNICallback: (name, done) => void certificates.forName(name).then((context) => done(null, context), done),
    })
    this.#tls.on('secureConnection', (socket) => this.#onEncrypted(socket))
    this.#tls.on('tlsClientError', (_error, socket) => socket.destroy())
    this.server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS })
    this.server.maxConnections = options.maxConnections
    this.server.on('connection', (socket) => this.#onConnection(socket))
  }

  /** Closes every connection. The database servers see the disconnects and keep running. */
  close(): void {
    this.server.close()
    for (const socket of this.#open) socket.destroy()
  }

  #onConnection(socket: Socket): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    this.#greet(socket, (packet, rest) => {
      switch (packet.kind) {
        case 'tls':
          // Bytes after the SSLRequest arrived unencrypted. Accepting them would treat them as encrypted
          // (CVE-2021-23214).
          if (rest.length > 0) return void socket.destroy()
          socket.write('S')
          return void this.#tls.emit('connection', socket)
        case 'gss':
          socket.write('N')
          return this.#onConnection(socket)
        case 'cancel':
          return void this.#cancel(socket, packet)
        case 'startup':
          return refuse(
            socket,
            new ConnectionRefused(
              SQLSTATE.invalidAuthorization,
              'connection is not encrypted',
              'Connect with sslmode=require.',
            ),
          )
        case 'invalid':
          return refuse(socket, new ConnectionRefused(SQLSTATE.protocolViolation, 'invalid start-up packet'))
        default:
          return packet satisfies never
      }
    })
  }

  #onEncrypted(socket: TLSSocket): void {
    socket.on('error', () => socket.destroy())
    this.#greet(socket, (packet, rest) => {
      if (packet.kind === 'startup') void this.#join(socket, packet, rest)
      else if (packet.kind === 'cancel') void this.#cancel(socket, packet)
      else refuse(socket, new ConnectionRefused(SQLSTATE.protocolViolation, 'invalid start-up packet'))
    })
  }

  /** Reads the first packet. Closes the connection if it does not arrive in time. */
  #greet(socket: Socket, next: (packet: FirstPacket, rest: Buffer) => void): void {
    let bytes: Buffer = Buffer.alloc(0)
    const timer = setTimeout(() => socket.destroy(), STARTUP_MS)
    const leave = () => socket.destroy()
    const onData = (chunk: Buffer) => {
      const isTlsAtOnce = bytes.length === 0 && chunk[0] === TLS_HANDSHAKE && !('encrypted' in socket)
      bytes = Buffer.concat([bytes, chunk])
      const first = isTlsAtOnce ? null : readFirstPacket(bytes)
      if (first === null && !isTlsAtOnce && bytes.length <= MAX_PACKET_BYTES) return
      socket.off('data', onData).off('end', leave)
      clearTimeout(timer)
      socket.pause()
      if (isTlsAtOnce) {
        socket.unshift(bytes)
        this.#tls.emit('connection', socket)
      } else if (first === null) socket.destroy()
      else next(first.packet, bytes.subarray(first.length))
    }
    socket.once('close', () => clearTimeout(timer))
    if (socket.listenerCount('error') === 0) socket.on('error', leave)
    socket.once('end', leave).on('data', onData).resume()
  }

  async #join(client: TLSSocket, { version, parameters }: Startup, rest: Buffer): Promise<void> {
    const { suffix, databases, wakeMs, log } = this.#options
    try {
      const user = parameters.get('user') ?? ''
      const wanted = requestedDatabase(user, client.servername || null, suffix)
      if (wanted === null)
        throw new ConnectionRefused(
          SQLSTATE.invalidAuthorization,
          `no database for user "${user}"`,
          'The user name of the connection URL says which database is meant.',
        )
      const leave = this.#enter(wanted.id)
      client.once('close', leave)
      const deadline = Deadline.after(wakeMs, `connection to database ${wanted.id}`)
      const server = await openDatabase(databases, wanted.id, client, deadline)
      if (client.destroyed) return void server.destroy()
      server.write(startupPacket(version, new Map([...parameters, ['user', wanted.user]])))
      if (rest.length > 0) server.write(rest)
      this.#splice(client, server, wanted.id)
    } catch (error) {
      if (!(error instanceof ConnectionRefused)) log.error({ err: error }, 'connection to a database failed')
      const refusal =
        error instanceof ConnectionRefused ? error : new ConnectionRefused(SQLSTATE.cannotConnectNow, UNREACHABLE)
      refuse(client, refusal)
    }
  }

  /** Counts a client. @returns a function to call when it leaves. @throws ConnectionRefused */
  #enter(id: SandboxId): () => void {
    const count = this.#perDatabase.get(id) ?? 0
    if (count >= this.#options.perDatabase)
      throw new ConnectionRefused(SQLSTATE.tooManyConnections, 'too many connections to this database')
    this.#perDatabase.set(id, count + 1)
    return () => {
      const left = (this.#perDatabase.get(id) ?? 1) - 1
      if (left === 0) this.#perDatabase.delete(id)
      else this.#perDatabase.set(id, left)
    }
  }

  #splice(client: Socket, server: Socket, id: SandboxId): void {
    const answers = new StartupAnswers()
    const readAlong = (chunk: Buffer) => {
      answers.read(chunk)
      if (!answers.isOver) return
      server.off('data', readAlong)
      if (answers.cancelKey !== null) client.once('close', this.#keys.add(answers.cancelKey, id))
    }
    server.on('data', readAlong)
    // When one side ends, the other ends too, after it has received all bytes.
    server.on('error', () => server.destroy())
    client.once('close', () => server.destroy())
    server.once('close', () => client.destroySoon())
    client.pipe(server).pipe(client)
  }

  async #cancel(socket: Socket, { key, packet }: Extract<FirstPacket, { kind: 'cancel' }>): Promise<void> {
    const deadline = Deadline.after(CANCEL_MS, 'cancel request')
    for (const id of this.#keys.of(key)) {
      const server = await openDatabase(this.#options.databases, id, socket, deadline).catch(() => null)
      if (server === null) continue
      server.on('error', () => server.destroy())
      // The server closes the connection after it has processed the cancel; clients wait for that.
      await new Promise((resolve) => {
        const timer = setTimeout(() => server.destroy(), deadline.remainingMs)
        server.once('end', () => server.destroy()).once('close', () => resolve(clearTimeout(timer)))
        server.resume()
        server.write(packet)
      })
    }
    socket.end()
  }
}

function refuse(socket: Socket, refusal: ConnectionRefused): void {
  socket.end(errorResponse(refusal))
}

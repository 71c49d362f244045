/**
 * The SSH port. Its identity comes from control, so that all edges have the same one and no edge keeps it on disk.
 * Until control has answered once, the gateway closes every connection.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { FairLimit } from '@offshoot/kit/fair-limit'
import type { Logger } from 'pino'
import ssh2, { type CipherAlgorithm, type Server as SshServer } from 'ssh2'
import type { SandboxLocations } from '../agents/sandbox-locations.ts'
import { askHostKey, type AskedControl } from './ask-control-for-ssh.ts'
import { ClientSocket } from './client-socket.ts'
import { FailedAddresses } from './failed-addresses.ts'
import { SshConnection } from './ssh-connection.ts'

/** Milliseconds for the key exchange, and for the authentication after it: a user may have to type a passphrase. */
const KEY_EXCHANGE_MS = 20_000
const AUTHENTICATION_MS = 120_000
/** Connections that are not authenticated: of one address, and of all. */
const MAX_STARTING_OF_ADDRESS = 64
const MAX_STARTING = 512
/** Milliseconds between two probes of a silent client, and probes without an answer that end its connection. */
const PROBE_MS = 30_000
const MAX_PROBES = 4
/** Bytes that wait for a client that sends requests and reads no answers. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024
/** Bytes of input of one channel: twice the window of the library, which a client may not exceed. */
const MAX_INPUT_BYTES = 4 * 1024 * 1024
/** Milliseconds between two questions for the host key. */
const RETRY_MS = 500

/** Twice as fast as the others, but OpenSSH's client prefers the others. So it is offered these only. */
const FAST_CIPHERS = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'] as const
const CIPHERS = [...FAST_CIPHERS, 'aes256-ctr', 'aes128-ctr'] as const
/** Milliseconds to wait for the client's greeting, which tells what it is. Clients may wait for ours. */
const GREETING_MS = 200
const OPENSSH = Buffer.from('SSH-2.0-OpenSSH_')
const MACS = ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256'] as const
const KEY_EXCHANGES = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'diffie-hellman-group14-sha256',
  'diffie-hellman-group16-sha512',
] as const

export interface SshFrontOptions {
  readonly control: AskedControl
  readonly locations: SandboxLocations
  readonly wakeMs: number
  readonly perCaller: number
  readonly perAddress: number
  readonly maxConnections: number
  readonly maxChannels: number
  readonly idleMs: number
  /** Milliseconds between two probes of a silent client. Default: 30 s. */
  readonly probeMs?: number
  readonly log: Logger
}

/** A channel of the library, as far as its input is watched. */
interface WatchedChannels {
  readonly _chanMgr?: { readonly _channels?: Readonly<Record<string, { readonly readableLength?: number }>> }
}

export class SshFront {
  readonly server: Server
  readonly #options: SshFrontOptions
  readonly #open = new Set<Socket>()
  readonly #starting = new FairLimit(MAX_STARTING_OF_ADDRESS, MAX_STARTING)
  readonly #addresses: FairLimit
  readonly #callers: FairLimit
  readonly #failed = new FailedAddresses()
  readonly #admitted = new WeakMap<Socket, () => void>()
  #ssh: { readonly openSsh: SshServer; readonly others: SshServer } | undefined

  constructor(options: SshFrontOptions) {
    this.#options = options
    this.#addresses = new FairLimit(options.perAddress, options.maxConnections)
    this.#callers = new FairLimit(options.perCaller, options.maxConnections)
    this.server = createServer({ noDelay: true, keepAlive: true })
    this.server.maxConnections = options.maxConnections
    this.server.on('connection', (socket) => this.#onConnection(socket))
  }

  /** Asks control for the host key until it answers, or `stopped` aborts. Never rejects. */
  async start(stopped: AbortSignal): Promise<void> {
    const { control, log } = this.#options
    while (!stopped.aborted) {
      try {
        const hostKey = await askHostKey(control)
        if (hostKey === null) return log.warn('control has no SSH gateway')
        this.#ssh = {
          openSsh: this.#makeServer(hostKey, FAST_CIPHERS),
          others: this.#makeServer(hostKey, CIPHERS),
        }
        return
      } catch (error) {
        log.debug({ err: error }, 'no SSH host key yet')
      }
      await delay(RETRY_MS, undefined, { signal: stopped }).catch(() => undefined)
    }
  }

  /** Closes every connection. Commands in sandboxes get SIGHUP. */
  close(): void {
    this.server.close()
    for (const socket of this.#open) socket.destroy()
  }

  #onConnection(socket: Socket): void {
    const ip = socket.remoteAddress ?? ''
    const leave = this.#addresses.take(ip)
    const started = leave === null ? null : this.#starting.take(ip)
    if (this.#ssh === undefined || leave === null || started === null) {
      leave?.()
      socket.destroy()
      return
    }
    this.#open.add(socket)
    const timer = setTimeout(() => socket.destroy(), KEY_EXCHANGE_MS + AUTHENTICATION_MS)
    const greeting = setTimeout(() => socket.destroy(), KEY_EXCHANGE_MS)
    this.#admitted.set(socket, () => {
      clearTimeout(timer)
      started()
    })
    socket.once('close', () => {
      this.#open.delete(socket)
      clearTimeout(timer)
      clearTimeout(greeting)
      started()
      leave()
    })
    socket.on('error', () => socket.destroy())
    this.#greetings.set(socket, () => clearTimeout(greeting))
    this.#inject(socket, this.#ssh)
  }

  /** Hands the connection to the library, when the client has greeted or waits for our greeting. */
  #inject(socket: Socket, { openSsh, others }: { readonly openSsh: SshServer; readonly others: SshServer }): void {
    const pass = (server: SshServer) => {
      clearTimeout(timer)
      socket.off('data', onData).off('close', onClose).pause()
      server.injectSocket(socket)
      socket.on('data', () => this.#limit(socket))
      socket.on('drain', () => socket.resume())
    }
    const onData = (greeting: Buffer) => {
      socket.unshift(greeting)
      pass(greeting.subarray(0, OPENSSH.length).equals(OPENSSH) ? openSsh : others)
    }
    const onClose = () => clearTimeout(timer)
    const timer = setTimeout(() => pass(others), GREETING_MS)
    socket.once('data', onData).once('close', onClose)
  }

  readonly #greetings = new WeakMap<Socket, () => void>()
  readonly #watched = new WeakMap<Socket, WatchedChannels>()

  /** The library checks neither what a client makes it answer nor the window of a channel. */
  #limit(socket: Socket): void {
    if (socket.writableLength > MAX_WAITING_BYTES) socket.pause()
    const channels = this.#watched.get(socket)?._chanMgr?._channels ?? {}
    for (const channel of Object.values(channels))
      if ((channel?.readableLength ?? 0) > MAX_INPUT_BYTES) return void socket.destroy()
  }

  #makeServer(hostKey: string, ciphers: readonly CipherAlgorithm[]): SshServer {
    const { control, locations, wakeMs, maxChannels, idleMs, probeMs = PROBE_MS, log } = this.#options
    const algorithms = {
      cipher: [...ciphers],
      hmac: [...MACS],
      kex: [...KEY_EXCHANGES],
      serverHostKey: ['ssh-ed25519' as const],
      compress: ['none' as const],
    }
    const server = new ssh2.Server({
      hostKeys: [hostKey],
      ident: 'Offshoot',
      algorithms,
      keepaliveInterval: probeMs,
      keepaliveCountMax: MAX_PROBES,
    })
    server.on('connection', (connection, { ip, header }) => {
      const { _sock: socket } = connection as unknown as { readonly _sock: Socket }
      this.#watched.set(socket, connection as unknown as WatchedChannels)
      connection.once('handshake', () => this.#greetings.get(socket)?.())
      SshConnection.serve({
        connection,
        client: new ClientSocket(socket),
        ip,
        software: header.versions.software.slice(0, 200),
        control,
        locations,
        wakeMs,
        maxChannels,
        idleMs,
        log,
        isSpent: () => this.#failed.isSpent(ip),
        onFailure: () => this.#failed.note(ip),
        enter: (caller) => this.#callers.take(caller),
        onAdmitted: () => this.#admitted.get(socket)?.(),
      })
    })
    return server
  }
}

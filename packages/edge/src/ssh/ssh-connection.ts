/**
 * One client of the SSH gateway.
 *
 *     (key exchange) ──► authenticating ──► admitted ──► closed
 *
 * The gateway agrees to every key, and lets control decide about each signature: an answer about the key alone would
 * tell whether somebody uses the service. What a client may do is the same on all channels, so the gateway asks once.
 */
import { SshFormatError } from '@offshoot/kit/ssh/ssh-wire'
import type { Logger } from 'pino'
import type { AuthContext, Connection, PublicKeyAuthContext, ServerChannel, TcpipBindInfo } from 'ssh2'
import { AdmittedClient, SshDenied } from './admitted-client.ts'
import type { AskedControl } from './ask-control-for-ssh.ts'
import type { ClientSocket } from './client-socket.ts'
import { Forwarding } from './forwarding.ts'
import type { SandboxDoor } from './open-in-sandbox.ts'
import { SshSession } from './session.ts'
import { isSignatureAlgorithm } from './signature-algorithms.ts'
import { wireSignature } from './wire-signature.ts'

/** Signatures of one connection that may fail, as in OpenSSH's server. */
const MAX_FAILURES = 6
/** How the library marks the error of a client that has answered no probe. */
const UNANSWERED_PROBES = 'client-timeout'
/** Milliseconds for a client to read the end of its connection. */
const GOODBYE_MS = 5_000
/** Requests of one connection for authentication, with those that have no signature. */
const MAX_REQUESTS = 64

export interface SshConnectionOptions {
  readonly connection: Connection
  readonly client: ClientSocket
  readonly ip: string
  /** The client's software. */
  readonly software: string
  readonly control: AskedControl
  readonly locations: SandboxDoor['locations']
  readonly wakeMs: number
  readonly maxChannels: number
  readonly idleMs: number
  readonly log: Logger
  /** Whether this address has failed too often. */
  readonly isSpent: () => boolean
  readonly onFailure: () => void
  /** Counts the connection of a caller; `null` if the caller has too many. */
  readonly enter: (caller: string) => (() => void) | null
  /** Called once the client is admitted. */
  readonly onAdmitted: () => void
}

export class SshConnection {
  readonly #options: SshConnectionOptions
  readonly #closed = new AbortController()
  #requests = 0
  #failures = 0
  #channels = 0
  #idle: NodeJS.Timeout | undefined
  #forwarding: Forwarding | undefined

  private constructor(options: SshConnectionOptions) {
    this.#options = options
    const { connection, client } = options
    client.onClose(() => this.#onClose())
    connection.on('error', (error: Error & { readonly level?: string }) => {
      options.log.debug({ err: error, ip: options.ip }, 'SSH connection failed')
      // The library says goodbye and waits for the client's end, which does not come.
      if (error.level === UNANSWERED_PROBES) client.socket.destroy()
    })
    connection.on('authentication', (context) => this.#authenticate(context))
  }

  static serve(options: SshConnectionOptions): SshConnection {
    return new SshConnection(options)
  }

  #authenticate(context: AuthContext): void {
    this.#requests += 1
    if (this.#requests > MAX_REQUESTS) return this.#end()
    if (context.method !== 'publickey' || !isSignatureAlgorithm(algorithmOf(context)))
      return context.reject(['publickey'])
    if (context.signature === undefined || context.blob === undefined) return context.accept()
    void this.#admit(context, context.blob, context.signature)
  }

  async #admit(context: PublicKeyAuthContext, blob: Buffer, signature: Buffer): Promise<void> {
    const { control, ip, software, log, enter, isSpent, onAdmitted } = this.#options
    try {
      if (isSpent()) throw new SshDenied('too many failures of this address')
      const proof = wireSignature(algorithmOf(context), signature)
      const request = {
        signed: blob.toString('base64'),
        signature: proof.toString('base64'),
        ip,
        client: software,
      }
      const admitted = await AdmittedClient.admit(control, request, this.#closed.signal)
      const leave = enter(admitted.caller)
      if (leave === null) throw new SshDenied('too many connections of this caller')
      if (this.#closed.signal.aborted) return leave()
      this.#options.client.onClose(leave)
      this.#serve(admitted)
      onAdmitted()
      context.accept()
    } catch (error) {
      if (this.#closed.signal.aborted) return
      if (!(error instanceof SshDenied || error instanceof SshFormatError))
        log.warn({ err: error }, 'control does not admit SSH clients')
      this.#deny(context)
    }
  }

  #deny(context: AuthContext): void {
    this.#failures += 1
    this.#options.onFailure()
    if (this.#failures >= MAX_FAILURES) this.#end()
    else context.reject(['publickey'])
  }

  #serve(admitted: AdmittedClient): void {
    const { connection, client, ip, locations, wakeMs, log } = this.#options
    const door = { client: admitted, locations, ip, wakeMs }
    const forwarding = new Forwarding({ door, client, connection, takeChannel: () => this.#takeChannel() })
    this.#forwarding = forwarding
    this.#watchIdle()
    void admitted.keepChecking(() => this.#end())
    connection.on('session', (accept, reject) => {
      const done = this.#takeChannel()
      if (done === null) return reject()
      const session = accept()
      session.once('close', done)
      SshSession.serve(session, { door, client, log })
    })
    connection.on('tcpip', (accept, reject, info) => {
      const done = this.#takeChannel()
      if (done === null) return reject()
      const opened: { channel?: ServerChannel } = {}
      void forwarding
        .connect(info, () => (opened.channel = accept()))
        .catch(() => opened.channel === undefined && reject())
        .finally(done)
    })
    connection.on('request', (accept, reject, name, info) => void this.#forward(accept, reject, name, info))
  }

  async #forward(
    accept: ((port?: number) => void) | undefined,
    reject: (() => void) | undefined,
    name: string,
    info: unknown,
  ): Promise<void> {
    const forwarding = this.#forwarding
    try {
      if (name === 'tcpip-forward' && forwarding !== undefined) {
        accept?.(await forwarding.listen(info as TcpipBindInfo))
        this.#watchIdle()
      } else if (name === 'cancel-tcpip-forward' && forwarding?.cancel(info as TcpipBindInfo)) {
        accept?.()
        this.#watchIdle()
      } else reject?.()
    } catch (error) {
      this.#options.log.debug({ err: error }, 'a port of a sandbox is not forwarded')
      reject?.()
    }
  }

  /** @returns a function to call when the channel has ended; `null` if there are too many */
  #takeChannel(): (() => void) | null {
    if (this.#channels >= this.#options.maxChannels) return null
    this.#channels += 1
    this.#watchIdle()
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#channels -= 1
      this.#watchIdle()
    }
  }

  /** Ends a connection that has had neither a channel nor a forwarded port for long. */
  #watchIdle(): void {
    clearTimeout(this.#idle)
    const isUsed = this.#channels > 0 || (this.#forwarding?.listeners ?? 0) > 0 || this.#closed.signal.aborted
    if (!isUsed) this.#idle = setTimeout(() => this.#end(), this.#options.idleMs).unref()
  }

  #end(): void {
    const { connection, client } = this.#options
    connection.end()
    client.socket.destroySoon()
    // A client that reads nothing would keep what is left to send.
    const timer = setTimeout(() => client.socket.destroy(), GOODBYE_MS)
    client.onClose(() => clearTimeout(timer))
  }

  #onClose(): void {
    clearTimeout(this.#idle)
    this.#closed.abort(new Error('the client has gone'))
  }
}

/** As the client named it (RFC 8332). */
function algorithmOf({ method, ...context }: AuthContext): string {
  if (method !== 'publickey') return ''
  const { key, hashAlgo } = context as PublicKeyAuthContext
  if (hashAlgo === 'sha256') return 'rsa-sha2-256'
  return hashAlgo === 'sha512' ? 'rsa-sha2-512' : key.algo
}

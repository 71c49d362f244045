/**
 * A session channel: one command, shell or SFTP server in the sandbox (RFC 4254, 6).
 *
 *     open ──env, pty──► open ──exec, shell, subsystem──► starting ──► running ──► closed
 *
 * The library gives a command's channel only while it handles the request, so the channel is accepted first. When the
 * command cannot start, the reason goes to the client's stderr, with exit code 255.
 */
import type { Socket } from 'node:net'
import {
  encodeSshFrame,
  SSH_FRAME_MAX_BYTES,
  SSH_STDIN_WINDOW,
  SSH_STREAM_PROTOCOL,
  sshCommandPath,
  sshExit,
  SshFrame,
  SshFrameDecoder,
  type SshStart,
  type SshStreamFrame,
} from '@offshoot/contract/ssh-stream'
import type { Logger } from 'pino'
import type { ServerChannel, Session } from 'ssh2'
import { SshDenied } from './admitted-client.ts'
import { ChannelWriter } from './channel-writer.ts'
import type { ClientSocket } from './client-socket.ts'
import { openInSandbox, type SandboxDoor, SandboxRefused } from './open-in-sandbox.ts'

/** The exit code of OpenSSH's client for its own failures. */
const FAILED = 255
const MAX_VARIABLES = 96
const MAX_VALUE_CHARS = 16 * 1024
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
/** Rows and columns that programs handle. */
const MAX_CHARACTERS = 1000
/** For a client without a terminal of its own, which sends 0. */
const DEFAULT_ROWS = 24
const DEFAULT_COLS = 80
/** Bytes of the largest packet of input, for which the window must have room. */
const MAX_PACKET_BYTES = 64 * 1024

export interface SessionOptions {
  readonly door: SandboxDoor
  readonly client: ClientSocket
  readonly log: Logger
}

type Size = NonNullable<SshStart['pty']>

export class SshSession {
  readonly #options: SessionOptions
  readonly #env: Record<string, string> = {}
  readonly #forget: () => void
  #pty: Size | null = null
  #isStarted = false
  #command: Socket | undefined
  /** The command runs and takes frames. */
  #isRunning = false
  #isClosed = false
  /** Bytes of input that the command has not taken. */
  #pendingBytes = 0

  private constructor(session: Session, options: SessionOptions) {
    this.#options = options
    const { remoteAddress, remotePort, localAddress, localPort } = options.client.socket
    this.#env['SSH_CLIENT'] = `${remoteAddress} ${remotePort} ${localPort}`
    this.#env['SSH_CONNECTION'] = `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
    session.on('env', (accept, reject, { key, val }) => answer(this.#setVariable(key, val), accept, reject))
    session.on('pty', (accept, reject, { term, rows, cols }) => {
      this.#pty = { rows: within(rows, DEFAULT_ROWS), cols: within(cols, DEFAULT_COLS) }
      answer(term === '' || this.#setVariable('TERM', term), accept, reject)
    })
    session.on('window-change', (accept, _reject, { rows, cols }) => {
      this.#resize({ rows: within(rows, DEFAULT_ROWS), cols: within(cols, DEFAULT_COLS) })
      accept?.()
    })
    session.on('signal', (accept, _reject, { name }) => {
      this.#send(SshFrame.signal, `SIG${name.slice(0, 16)}`)
      accept?.()
    })
    session.on('shell', (accept, reject) => this.#run(accept, reject, { kind: 'shell', command: '' }))
    session.on('exec', (accept, reject, { command }) => this.#run(accept, reject, { kind: 'exec', command }))
    session.on('subsystem', (accept, reject, { name }) => {
      if (name === 'sftp') this.#run(accept, reject, { kind: 'sftp', command: '' })
      else reject?.()
    })
    this.#forget = options.client.onClose(() => this.#close())
    session.on('close', () => this.#close())
  }

  static serve(session: Session, options: SessionOptions): SshSession {
    return new SshSession(session, options)
  }

  #setVariable(name: string, value: string): boolean {
    if (!VARIABLE.test(name) || value.length > MAX_VALUE_CHARS || value.includes('\0')) return false
    if (Object.keys(this.#env).length >= MAX_VARIABLES) return false
    this.#env[name] = value
    return true
  }

  #run(
    accept: () => ServerChannel | undefined,
    reject: (() => void) | undefined,
    what: Pick<SshStart, 'kind' | 'command'>,
  ): void {
    if (this.#isStarted) return reject?.()
    this.#isStarted = true
    const channel = accept()
    // The client has closed the session meanwhile.
    if (channel === undefined) return
    channel.on('error', () => this.#close())
    void this.#serve(channel, what)
  }

  async #serve(channel: ServerChannel, what: Pick<SshStart, 'kind' | 'command'>): Promise<void> {
    const { door, client, log } = this.#options
    const writer = new ChannelWriter(channel, client)
    channel.pause()
    let exit: SshExitOf = { code: FAILED, signal: null }
    try {
      const wanted = { path: sshCommandPath(door.client.sandboxId), protocol: SSH_STREAM_PROTOCOL }
      const command = await openInSandbox(door, wanted)
      this.#command = command
      command.on('error', () => command.destroy())
      if (this.#isClosed) return void command.destroy()
      this.#sendStart({ ...what, user: door.client.user, pty: this.#pty, env: this.#env })
      exit = await this.#follow(command, channel, writer)
    } catch (error) {
      if (!isExpected(error)) log.error({ err: error }, 'a command of an SSH session failed')
      await writer.write(this.#sentence(isExpected(error) ? error.message : 'the sandbox cannot be reached'), 'stderr')
    }
    this.#isRunning = false
    this.#command?.destroy()
    finish(channel, exit)
  }

  /** Passes frames on until the command has ended. @throws SandboxRefused when it failed */
  async #follow(command: Socket, channel: ServerChannel, writer: ChannelWriter): Promise<SshExitOf> {
    const decoder = new SshFrameDecoder()
    this.#passInput(channel)
    for await (const chunk of command) {
      for (const frame of decoder.push(chunk as Buffer)) {
        const exit = await this.#take(frame, channel, writer)
        if (exit !== null) return exit
      }
    }
    throw new SandboxRefused('the connection to the sandbox was lost')
  }

  async #take(
    { type, payload }: SshStreamFrame,
    channel: ServerChannel,
    writer: ChannelWriter,
  ): Promise<SshExitOf | null> {
    switch (type) {
      case SshFrame.started:
        this.#isRunning = true
        if (this.#pty !== null) this.#resize(this.#pty)
        channel.resume()
        return null
      case SshFrame.stdout:
        await writer.write(payload)
        return null
      case SshFrame.stderr:
        await writer.write(payload, 'stderr')
        return null
      case SshFrame.credit:
        this.#pendingBytes -= payload.readUInt32BE(0)
        if (this.#pendingBytes <= SSH_STDIN_WINDOW / 2) channel.resume()
        return null
      case SshFrame.exit:
        return sshExit.parse(JSON.parse(payload.toString()))
      case SshFrame.failed:
        throw new SandboxRefused(payload.toString())
      default:
        throw new Error(`frame type ${type} of an agent`)
    }
  }

  #passInput(channel: ServerChannel): void {
    channel.on('data', (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += SSH_FRAME_MAX_BYTES)
        this.#send(SshFrame.stdin, bytes.subarray(at, at + SSH_FRAME_MAX_BYTES))
      this.#pendingBytes += bytes.length
      if (this.#pendingBytes > SSH_STDIN_WINDOW - MAX_PACKET_BYTES) channel.pause()
    })
    channel.once('end', () => this.#send(SshFrame.stdinEnd, ''))
    channel.pause()
  }

  #sendStart(start: SshStart): void {
    this.#command?.write(encodeSshFrame(SshFrame.start, JSON.stringify(start)))
  }

  #resize(size: Size): void {
    if (this.#pty === null) return
    this.#pty = size
    const payload = Buffer.alloc(4)
    payload.writeUInt16BE(size.rows, 0)
    payload.writeUInt16BE(size.cols, 2)
    this.#send(SshFrame.resize, payload)
  }

  #send(type: number, payload: Uint8Array | string): void {
    if (this.#isRunning) this.#command?.write(encodeSshFrame(type, payload))
  }

  #close(): void {
    this.#forget()
    this.#isClosed = true
    this.#command?.destroy()
  }

  /** A terminal in raw mode needs the carriage return. */
  #sentence(text: string): Buffer {
    return Buffer.from(`offshoot: ${text}${this.#pty === null ? '\n' : '\r\n'}`)
  }
}

type SshExitOf = { readonly code: number | null; readonly signal: string | null }

function isExpected(error: unknown): error is Error {
  return error instanceof SandboxRefused || error instanceof SshDenied
}

function finish(channel: ServerChannel, { code, signal }: SshExitOf): void {
  if (signal === null) channel.exit(code ?? FAILED)
  else channel.exit(signal, false, '')
  channel.resume()
  channel.end()
}

function answer(isAccepted: boolean, accept?: () => void, reject?: () => void): void {
  if (isAccepted) accept?.()
  else reject?.()
}

/** Programs divide by the size. */
function within(characters: number, otherwise: number): number {
  return Math.min(characters, MAX_CHARACTERS) || otherwise
}

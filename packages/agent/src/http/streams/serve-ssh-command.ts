/**
 * One command of an SSH session on one upgraded connection (`contract/ssh-stream.ts`).
 *
 *     waiting ──START──► starting ──STARTED──► running ──EXIT──► over
 *        └────────────────────┴─FAILED───────────────────────────► over
 *
 * When the connection closes first, the command gets SIGHUP, as from a terminal that is gone, and later SIGKILL.
 */
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { finished } from 'node:stream/promises'
import { ApiError } from '@offshoot/contract/errors'
import { SIGNALS } from '@offshoot/contract/signal'
import {
  encodeSshFrame,
  SSH_STDIN_WINDOW,
  type SshExit,
  SshFrame,
  SshFrameDecoder,
  sshStart,
  SshStreamError,
  type SshStreamFrame,
} from '@offshoot/contract/ssh-stream'
import type { GuestExit, GuestProcess } from '@offshoot/guest-link/guest-process'
import type { Logger } from 'pino'
import { z } from 'zod'
import { notRunningReason } from '../../sandbox/model/guest-access.ts'
import type { Sandbox } from '../../sandbox/model/sandbox.ts'
import { startSshCommand } from '../../sandbox/ssh/ssh-command.ts'

/** Milliseconds until START. */
const START_MS = 10_000
/** Milliseconds between SIGHUP and SIGKILL. */
const HANG_UP_MS = 5_000
/** Signals that SSH names beside those of our API (RFC 4254, 6.10). */
const signal = z.enum([...SIGNALS, 'SIGFPE', 'SIGILL', 'SIGSEGV'])

export class SshCommand {
  readonly #sandbox: Sandbox
  readonly #socket: Socket
  readonly #log: Logger
  readonly #decoder = new SshFrameDecoder()
  readonly #startTimer: NodeJS.Timeout
  #process: GuestProcess | undefined
  #isStarting = false
  #isOver = false
  /** Bytes of input that the command has not taken. */
  #pendingBytes = 0

  private constructor(sandbox: Sandbox, socket: Socket, log: Logger) {
    this.#sandbox = sandbox
    this.#log = log
    this.#socket = socket
    this.#startTimer = setTimeout(() => this.#fail('no command'), START_MS)
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('drain', () => this.#read())
    socket.on('error', () => socket.destroy())
    // The edge never ends its half alone.
    socket.on('end', () => socket.destroy())
    socket.once('close', () => this.#leave())
  }

  /** Serves a connection that was just upgraded. @param head bytes that came with the request */
  static serve(sandbox: Sandbox, socket: Socket, head: Buffer, log: Logger): SshCommand {
    const command = new SshCommand(sandbox, socket, log)
    if (head.length > 0) command.#receive(head)
    return command
  }

  close(): void {
    this.#fail('the service restarts')
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#decoder.push(chunk)) this.#take(frame)
    } catch (error) {
      if (!(error instanceof SshStreamError)) throw error
      this.#socket.destroy()
    }
  }

  #take({ type, payload }: SshStreamFrame): void {
    if (type === SshFrame.start && !this.#isStarting) {
      this.#isStarting = true
      clearTimeout(this.#startTimer)
      void this.#start(payload)
      return
    }
    const process = this.#process
    if (process === undefined) throw new SshStreamError(`frame type ${type} before STARTED`)
    switch (type) {
      case SshFrame.stdin:
        return this.#write(process, payload)
      case SshFrame.stdinEnd:
        process.stdin.end()
        return
      case SshFrame.signal: {
        const named = signal.safeParse(payload.toString())
        if (named.success) process.kill(named.data)
        return
      }
      case SshFrame.resize:
        if (payload.length !== 4) throw new SshStreamError('bad RESIZE')
        process.resize({ rows: payload.readUInt16BE(0), cols: payload.readUInt16BE(2) })
        return
      default:
        throw new SshStreamError(`frame type ${type}`)
    }
  }

  async #start(payload: Buffer): Promise<void> {
    try {
      const start = sshStart.safeParse(parseJson(payload))
      if (!start.success) throw new ApiError('invalidField', { error: 'the command cannot be read' })
      this.#process = await startSshCommand(this.#sandbox, start.data)
    } catch (error) {
      if (!(error instanceof ApiError)) this.#log.error({ err: error }, 'a command of an SSH session failed to start')
      this.#fail(error instanceof ApiError ? sentenceOf(error) : 'internal error')
      return
    }
    if (this.#isOver) return this.#hangUp(this.#process)
    this.#process.stdin.on('error', () => undefined)
    this.#send(SshFrame.started, '')
    void this.#follow(this.#process)
  }

  async #follow(process: GuestProcess): Promise<void> {
    const ended = [process.stdout, process.stderr].map((output) => finished(output).catch(() => undefined))
    process.stdout.on('data', (chunk: Buffer) => this.#send(SshFrame.stdout, chunk))
    process.stderr.on('data', (chunk: Buffer) => this.#send(SshFrame.stderr, chunk))
    try {
      const exit = await process.exited
      await Promise.all(ended)
      this.#finish(SshFrame.exit, JSON.stringify(presentExit(exit)))
    } catch {
      this.#fail(notRunningReason(this.#sandbox))
    }
  }

  #write(process: GuestProcess, payload: Buffer): void {
    this.#pendingBytes += payload.length
    if (this.#pendingBytes > SSH_STDIN_WINDOW) throw new SshStreamError('more input than the window allows')
    // The payload is a view into a buffer that the next read does not touch.
    process.stdin.write(payload, () => {
      this.#pendingBytes -= payload.length
      const credit = Buffer.alloc(4)
      credit.writeUInt32BE(payload.length)
      this.#send(SshFrame.credit, credit)
    })
  }

  #send(type: number, payload: Uint8Array | string): void {
    if (this.#isOver || this.#socket.write(encodeSshFrame(type, payload))) return
    this.#process?.stdout.pause()
    this.#process?.stderr.pause()
  }

  #read(): void {
    this.#process?.stdout.resume()
    this.#process?.stderr.resume()
  }

  #fail(sentence: string): void {
    this.#finish(SshFrame.failed, sentence)
  }

  #finish(type: number, payload: string): void {
    if (this.#isOver) return
    this.#send(type, payload)
    this.#leave()
    this.#socket.end()
  }

  #leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#startTimer)
    if (this.#process !== undefined) this.#hangUp(this.#process)
  }

  #hangUp(process: GuestProcess): void {
    const timer = setTimeout(() => process.kill('SIGKILL'), HANG_UP_MS)
    void process.exited.catch(() => undefined).finally(() => clearTimeout(timer))
    process.kill('SIGHUP')
    for (const stream of [process.stdin, process.stdout, process.stderr]) stream.destroy()
  }
}

function parseJson(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString())
  } catch {
    return undefined
  }
}

function sentenceOf({ body }: ApiError): string {
  return body.detail === undefined ? body.error : `${body.error}: ${body.detail}`
}

const NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name.slice('SIG'.length)]))

function presentExit({ exitCode, signal: number }: GuestExit): SshExit {
  const name = number === null ? undefined : NAMES.get(number)
  if (number === null || name !== undefined) return { code: exitCode, signal: name ?? null }
  return { code: 128 + number, signal: null }
}

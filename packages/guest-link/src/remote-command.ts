/**
 * The host's end of the stream of one command.
 *
 *     starting ──STARTED──► running ──EXIT──► over
 *        └──────FAILED──────────────────────► over        (a lost link leads to `over` from anywhere)
 */
import {
  CreditTarget,
  encodeBytes,
  encodeFrame,
  FrameFlag,
  FrameType,
  GuestProtocolError,
  type Frame,
} from '@offshoot/contract/guest-frame'
import { CommandInput } from './command-input.ts'
import { CommandOutput } from './command-output.ts'
import { encodeCredit, readCredit, readErrorPayload, readExitPayload, signalNumber } from './payloads.ts'
import { GuestRunError } from './guest-link-error.ts'
import type { GuestExit, GuestProcess } from './guest-process.ts'
import type { LinkStream } from './link-streams.ts'
import { encodeResize, type TerminalSize } from './terminal-size.ts'
import type { WideWindows } from './receive-window.ts'

export class RemoteCommand implements GuestProcess, LinkStream {
  readonly stdin: CommandInput
  readonly stdout: CommandOutput
  readonly stderr: CommandOutput
  readonly exited: Promise<GuestExit>
  /** Resolves when the program runs; rejects with GuestRunError, or GuestLinkLost. */
  readonly started: Promise<void>

  readonly #id: number
  readonly #send: (frame: Uint8Array) => void
  readonly #exited = Promise.withResolvers<GuestExit>()
  readonly #started = Promise.withResolvers<void>()
  #state: 'starting' | 'running' | 'over' = 'starting'
  #pid = 0

  constructor(id: number, hasStdin: boolean, send: (frame: Uint8Array) => void, wide: WideWindows) {
    this.#id = id
    this.#send = send
    this.exited = this.#exited.promise
    this.started = this.#started.promise
    // A caller may wait for one of the two only: no unhandled rejection of the other.
    this.exited.catch(() => {})
    this.started.catch(() => {})
    this.stdin = new CommandInput((payload, isEnd) => this.#sendStdin(payload, isEnd))
    if (!hasStdin) this.stdin.destroy()
    this.stdout = new CommandOutput((bytes) => this.#sendCredit(CreditTarget.stdout, bytes), wide)
    this.stderr = new CommandOutput((bytes) => this.#sendCredit(CreditTarget.stderr, bytes), wide)
  }

  get pid(): number {
    return this.#pid
  }

  kill(signal: number | NodeJS.Signals): void {
    const number = signalNumber(signal)
    if (this.#state !== 'over') this.#send(encodeFrame(FrameType.kill, this.#id, Uint8Array.of(number)))
  }

  resize(size: TerminalSize): void {
    const frame = encodeResize(this.#id, size)
    if (this.#state !== 'over') this.#send(frame)
  }

  /** Kills the command and discards its output, because the caller has stopped waiting for its start. */
  abandon(): void {
    this.kill('SIGKILL')
    this.stdout.destroy()
    this.stderr.destroy()
    this.stdin.destroy()
  }

  /** @returns true when this was the stream's last frame */
  onFrame(frame: Frame): boolean {
    switch (frame.type) {
      case FrameType.started:
        this.#onStarted(frame)
        return false
      case FrameType.failed:
      case FrameType.error:
        this.#onFailed(frame)
        return true
      case FrameType.exit:
        this.#onExit(frame)
        return true
      default:
        this.#onStream(frame)
        return false
    }
  }

  onLinkLost(error: Error): void {
    this.#state = 'over'
    this.#started.reject(error)
    this.#exited.reject(error)
    this.stdin.destroy(error)
    this.stdout.destroy(error)
    this.stderr.destroy(error)
  }

  #onStarted(frame: Frame): void {
    if (this.#state !== 'starting' || frame.payload.length !== 4) throw new GuestProtocolError('bad STARTED')
    this.#pid = readUint32(frame.payload, 0)
    this.#state = 'running'
    this.#started.resolve()
  }

  #onFailed(frame: Frame): void {
    const { errno, text } = readErrorPayload(frame.payload)
    if (this.#state !== 'starting') throw new GuestProtocolError('FAILED after STARTED')
    const error = new GuestRunError(errno, text)
    this.#state = 'over'
    this.#started.reject(error)
    this.#exited.reject(error)
    this.stdin.destroy()
    this.stdout.destroy()
    this.stderr.destroy()
  }

  #onExit(frame: Frame): void {
    const exit = readExitPayload(frame.payload)
    if (this.#state !== 'running') throw new GuestProtocolError('EXIT before STARTED')
    this.#state = 'over'
    this.stdin.destroy()
    this.stdout.complete()
    this.stderr.complete()
    this.#exited.resolve(exit)
  }

  #onStream(frame: Frame): void {
    if (this.#state !== 'running') throw new GuestProtocolError(`frame type ${frame.type} before STARTED`)
    if (frame.type === FrameType.stdout || frame.type === FrameType.stderr) {
      const output = frame.type === FrameType.stdout ? this.stdout : this.stderr
      if (frame.payload.length > 0) output.receive(frame.payload)
      if ((frame.flags & FrameFlag.end) !== 0) output.complete()
    } else if (frame.type === FrameType.credit) {
      this.stdin.grant(readCredit(frame.payload))
    } else if (frame.type === FrameType.stdinClosed) {
      this.stdin.closeByCommand()
    } else {
      throw new GuestProtocolError(`frame type ${frame.type} on a command`)
    }
  }

  #sendStdin(payload: Uint8Array, isEnd: boolean): void {
    if (this.#state !== 'over') this.#send(encodeBytes(FrameType.stdin, this.#id, payload, isEnd ? FrameFlag.end : 0))
  }

  #sendCredit(target: number, bytes: number): void {
    if (this.#state !== 'over') this.#send(encodeCredit(this.#id, target, bytes))
  }
}

const readUint32 = (payload: Uint8Array, at: number) =>
  new DataView(payload.buffer, payload.byteOffset, payload.byteLength).getUint32(at, true)

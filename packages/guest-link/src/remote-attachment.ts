/**
 * The host's end of the stream of one attachment.
 *
 *     attaching ──ATTACHED──► following ──EXIT, DONE, ERROR──► over
 *         └────────ERROR───────────────────────────────────► over        (a lost link leads to `over` from anywhere)
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
import { encodeCredit, readCredit, readErrorPayload, readExitPayload, signalNumber } from './payloads.ts'
import type { GuestAttachment } from './guest-attachment.ts'
import { GuestRequestError } from './guest-link-error.ts'
import type { GuestExit } from './guest-process.ts'
import { readOffset } from './kept-command.ts'
import type { LinkStream } from './link-streams.ts'
import { LogOutput } from './log-output.ts'
import { encodeResize, type TerminalSize } from './terminal-size.ts'

const LOG_HEADER_BYTES = 9
const ATTACHED_BYTES = 20

export class RemoteAttachment implements GuestAttachment, LinkStream {
  readonly stdin: CommandInput
  readonly output: LogOutput
  readonly exited: Promise<GuestExit | undefined>
  /**
   * Resolves when the guest has attached. Rejects with GuestRequestError ENOENT for an unknown command, or
   * GuestLinkLost.
   */
  readonly attached: Promise<void>

  readonly #id: number
  readonly #send: (frame: Uint8Array) => void
  readonly #exited = Promise.withResolvers<GuestExit | undefined>()
  readonly #attached = Promise.withResolvers<void>()
  #state: 'attaching' | 'following' | 'over' = 'attaching'
  #isDetaching = false
  #pid = 0
  #offset = 0
  #liveOffset = 0

  constructor(id: number, send: (frame: Uint8Array) => void) {
    this.#id = id
    this.#send = send
    this.exited = this.#exited.promise
    this.attached = this.#attached.promise
    this.exited.catch(() => {})
    this.attached.catch(() => {})
    this.stdin = new CommandInput((payload, isEnd) => {
      this.#sendLive(encodeBytes(FrameType.stdin, id, payload, isEnd ? FrameFlag.end : 0))
    })
    this.output = new LogOutput((bytes) => this.#sendLive(encodeCredit(id, CreditTarget.stdout, bytes)))
  }

  get pid(): number {
    return this.#pid
  }

  get offset(): number {
    return this.#offset
  }

  get liveOffset(): number {
    return this.#liveOffset
  }

  kill(signal: number | NodeJS.Signals): void {
    this.#sendLive(encodeFrame(FrameType.kill, this.#id, Uint8Array.of(signalNumber(signal))))
  }

  resize(size: TerminalSize): void {
    this.#sendLive(encodeResize(this.#id, size))
  }

  detach(): void {
    if (this.#isDetaching) return
    this.#sendLive(encodeFrame(FrameType.detach, this.#id))
    this.#isDetaching = true
    this.stdin.destroy()
  }

  /** Detaches as soon as it is attached, because the caller has stopped waiting. */
  abandon(): void {
    this.output.destroy()
    this.attached.then(
      () => this.detach(),
      () => {},
    )
  }

  /** @returns true when this was the stream's last frame */
  onFrame(frame: Frame): boolean {
    switch (frame.type) {
      case FrameType.attached:
        this.#onAttached(Buffer.from(frame.payload))
        return false
      case FrameType.error:
        this.#onError(frame)
        return true
      case FrameType.exit:
        this.#onEnd(readExitPayload(frame.payload))
        return true
      case FrameType.done:
        this.#onEnd(undefined)
        return true
      default:
        this.#onStream(frame)
        return false
    }
  }

  onLinkLost(error: Error): void {
    this.#state = 'over'
    this.#attached.reject(error)
    this.#exited.reject(error)
    this.stdin.destroy(error)
    this.output.destroy(error)
  }

  #onAttached(payload: Buffer): void {
    if (this.#state !== 'attaching' || payload.length !== ATTACHED_BYTES) throw new GuestProtocolError('bad ATTACHED')
    this.#offset = readOffset(payload, 0)
    this.#liveOffset = readOffset(payload, 8)
    this.#pid = payload.readUInt32LE(16)
    this.#state = 'following'
    this.#attached.resolve()
  }

  #onError(frame: Frame): void {
    const { errno, text } = readErrorPayload(frame.payload)
    const error = new GuestRequestError(errno, text)
    this.#state = 'over'
    this.#attached.reject(error)
    this.#exited.reject(error)
    this.stdin.destroy()
    this.output.destroy(error)
  }

  #onEnd(exit: GuestExit | undefined): void {
    if (this.#state !== 'following') throw new GuestProtocolError('an attachment ended before it began')
    this.#state = 'over'
    this.stdin.destroy()
    this.output.complete()
    this.#exited.resolve(exit)
  }

  #onStream(frame: Frame): void {
    if (this.#state !== 'following') throw new GuestProtocolError(`frame type ${frame.type} before ATTACHED`)
    if (frame.type === FrameType.log) this.#onLog(Buffer.from(frame.payload))
    else if (frame.type === FrameType.credit) this.stdin.grant(readCredit(frame.payload))
    else if (frame.type === FrameType.stdinClosed) this.stdin.closeByCommand()
    else throw new GuestProtocolError(`frame type ${frame.type} on an attachment`)
  }

  #onLog(payload: Buffer): void {
    const target = payload[8]
    if (payload.length <= LOG_HEADER_BYTES || (target !== CreditTarget.stdout && target !== CreditTarget.stderr)) {
      throw new GuestProtocolError('bad LOG')
    }
    const stream = target === CreditTarget.stdout ? 'stdout' : 'stderr'
    this.output.receive(stream, readOffset(payload, 0), payload.subarray(LOG_HEADER_BYTES))
  }

  #sendLive(frame: Uint8Array): void {
    if (this.#state === 'following' && !this.#isDetaching) this.#send(frame)
  }
}

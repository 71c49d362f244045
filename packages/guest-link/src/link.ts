/**
 * The host side of the guest channel: one connection, many streams.
 *
 *     connecting ──HELLO_ACK──► open ──► closed
 *
 * Invariants: a stream id is used once in the life of a link; every stream in the table hears of its end or of the
 * link's; nothing is sent or delivered after `closed`. The guest is not trusted: a frame that breaks the protocol
 * closes the link, and every buffer is bounded by the windows whatever the guest sends.
 */
import type { Socket } from 'node:net'
import {
  encodeFrame,
  encodeMessage,
  FrameDecoder,
  FrameFlag,
  FrameType,
  GuestProtocolError,
  type Frame,
} from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'
import { readErrorPayload } from './error-payload.ts'
import type { GuestAttachment } from './guest-attachment.ts'
import { encodeBuiltin, encodeCommand, type GuestCommand } from './guest-command.ts'
import { FrameWriter } from './frame-writer.ts'
import { GuestFiles, type RunBuiltin } from './guest-files.ts'
import { type GuestLinkClosed, TAKES_NOTHING } from './guest-link-closed.ts'
import { GuestLinkLost, GuestRequestError, GuestRunError } from './guest-link-error.ts'
import { GuestPorts } from './guest-ports.ts'
import { memoryQuestion } from './guest-memory.ts'
import type { GuestProcess } from './guest-process.ts'
import { encodeRelease, type GuestRelease } from './guest-release.ts'
import type { GuestRefresh, GuestRefreshing } from './guest-refresh.ts'
import { HoldGate } from './hold-gate.ts'
import { Handshake, type GuestHello } from './handshake.ts'
import { decodeKeptList, type KeptCommand } from './kept-command.ts'
import { completeKeepOptions, encodeAttach, encodeKeptId, encodeSignal, type KeepOptions } from './kept-payload.ts'
import { LinkRefresh } from './link-refresh.ts'
import { LinkRequest } from './link-request.ts'
import type { LinkStream, MakeStream, Opening } from './link-stream.ts'
import { LinkStreams } from './link-streams.ts'
import { openSocket } from './open-socket.ts'
import { RemoteAttachment } from './remote-attachment.ts'
import { RemoteCommand } from './remote-command.ts'

export class GuestLink {
  readonly #closed = Promise.withResolvers<GuestLinkClosed>()
  /** Resolves when the link is no more, with the reason; never rejects. */
  readonly closed = this.#closed.promise
  readonly #runBuiltin: RunBuiltin = (name, argv, { user, deadline }) =>
    this.#run(encodeBuiltin(name, argv, user), true, deadline)
  readonly files = new GuestFiles(this.#runBuiltin)
  readonly ports = new GuestPorts({
    open: (opening, make, deadline) => this.#openInTurn(opening, make, deadline),
    listeners: (deadline) => this.#ask(FrameType.listeners, FrameType.listenerList, new Uint8Array(0), deadline),
  })
  readonly memory = memoryQuestion((...question) => this.#ask(...question))
  readonly #greeted = Promise.withResolvers<void>()
  readonly #decoder = new FrameDecoder()
  readonly #streams = new LinkStreams()
  readonly #holdGate = new HoldGate({
    ask: (opening, answerType) => this.#open(opening, () => new LinkRequest(answerType), true).answered,
    onOpen: () => this.#writer?.letGo(),
  })
  readonly #handshake = new Handshake()
  #hello: GuestHello | undefined
  #isClosed = false
  #socket: Socket | undefined
  #writer: FrameWriter | undefined

  private constructor() {
    this.#greeted.promise.catch(() => {})
  }

  /**
   * Connects to the guest behind a Unix socket, which need not exist yet, and waits until it answers.
   * @throws DeadlineExceeded; GuestLinkLost when the other end hangs up; GuestProtocolError on another protocol version
   */
  static async connect(socketPath: string, deadline: Deadline): Promise<GuestLink> {
    const link = new GuestLink()
    const socket = await openSocket(socketPath, { onBytes: (bytes) => link.#onBytes(bytes) }, deadline)
    try {
      link.#greet(socket)
      await deadline.race(link.#greeted.promise)
      return link
    } catch (error) {
      link.close()
      throw error
    }
  }

  /** What the guest said of itself. */
  get hello(): GuestHello {
    if (this.#hello === undefined) throw new Error('the guest has not answered yet')
    return this.#hello
  }

  /** One round trip, with an echo of up to 16384 bytes; a held guest answers too. @throws DeadlineExceeded, GuestLinkLost */
  async ping(deadline: Deadline, payload: Uint8Array = new Uint8Array(0)): Promise<Uint8Array> {
    const opening: Opening = (id) => encodeMessage(FrameType.ping, id, payload)
    return deadline.race(this.#open(opening, () => new LinkRequest(FrameType.pong)).answered)
  }

  /** Gives a restored guest its own identity, before anything else; what is asked of it meanwhile it does when it is settled. */
  refresh(refresh: GuestRefresh, deadline: Deadline): GuestRefreshing {
    const opened = this.#holdGate.opening()
    return LinkRefresh.ask(refresh, deadline, opened, (opening, make) => this.#open(opening, make, true))
  }

  /**
   * No process of the guest runs from here on until {@link release} or {@link refresh}, on this link or on a later one;
   * also in what is restored from a checkpoint that is taken meanwhile. Whatever is asked from here on waits; what was
   * asked before is answered when this returns.
   * @throws GuestRequestError ETIMEDOUT, then nothing is held; DeadlineExceeded: it may be; GuestLinkLost
   */
  async hold(deadline: Deadline): Promise<void> {
    await this.#holdGate.hold(deadline)
  }

  /** Nothing leaves but hold, refresh and release until one of the latter has been answered (`frame-writer.ts` says why). */
  quiet(): void {
    this.#writer?.keep()
  }

  /** The guest will stand still for long: what waits for it, and comes until it is let go, fails with GuestNotAsked. */
  refuse(): void {
    this.#holdGate.refuse()
  }

  /** Lets a held guest go on, in the present. One that is not held only takes clock and entropy. @throws as refresh */
  async release(release: GuestRelease, deadline: Deadline): Promise<void> {
    await this.#holdGate.letGo(FrameType.release, FrameType.released, encodeRelease(release), deadline)
  }

  /** Everything on disk and nothing cached that the disk has too: before a snapshot. @throws DeadlineExceeded, GuestLinkLost */
  async quiesce(deadline: Deadline): Promise<void> {
    await this.#ask(FrameType.quiesce, FrameType.quiesced, new Uint8Array(0), deadline)
  }

  /**
   * Resolves when the program runs. A command that has not started at the deadline is killed.
   * @throws GuestRunError when it cannot start; DeadlineExceeded; GuestLinkLost
   */
  async run(command: GuestCommand, deadline?: Deadline): Promise<GuestProcess> {
    return this.#run(encodeCommand(command), command.stdin !== 'none', deadline)
  }

  /**
   * Starts a command that outlives this link, under an id that the host chooses (1 to 64 bytes of UTF-8). It is ended by
   * itself, {@link signalKept} or {@link forget}; its output is kept within `logBytes`, the oldest dropped first.
   *
   * @param options.logBytes 64 KiB to 16 MiB; default 1 MiB, 256 KiB for a terminal; all kept commands: 64 MiB
   * @param options.label at most 120 bytes, given back by {@link kept}
   * @throws GuestRunError when it cannot start: EEXIST for an id in use, EAGAIN for more than 64, ENOMEM for too many
   *   bytes of logs; DeadlineExceeded: it may have started nevertheless; GuestLinkLost
   */
  async keep(command: GuestCommand, options: KeepOptions, deadline: Deadline): Promise<{ readonly pid: number }> {
    const message = encodeCommand(command, completeKeepOptions(command, options))
    const flags = command.stdin === 'none' ? FrameFlag.end : 0
    try {
      const started = await this.#ask(FrameType.run, FrameType.started, message, deadline, flags)
      return { pid: Buffer.from(started).readUInt32LE(0) }
    } catch (error) {
      throw error instanceof GuestRequestError ? new GuestRunError(error.errno, error.message) : error
    }
  }

  /**
   * Follows a kept command: its output from an offset on, then live. Several may.
   *
   * @param options.fromOffset default 0: from the oldest byte kept; `end`: live only
   * @throws GuestRequestError ENOENT; DeadlineExceeded; GuestLinkLost
   */
  async attach(
    id: string,
    options: { readonly fromOffset?: number | 'end' },
    deadline: Deadline,
  ): Promise<GuestAttachment> {
    const payload = encodeAttach(id, options.fromOffset ?? 0)
    const remote = await this.#openInTurn(
      (stream) => encodeFrame(FrameType.attach, stream, payload),
      (stream, send) => new RemoteAttachment(stream, send),
      deadline,
    )
    try {
      await deadline.race(remote.attached)
    } catch (error) {
      remote.abandon()
      throw error
    }
    return remote
  }

  /** The kept commands, ended ones too. @throws DeadlineExceeded, GuestLinkLost */
  async kept(deadline: Deadline): Promise<KeptCommand[]> {
    return decodeKeptList(await this.#ask(FrameType.kept, FrameType.keptList, new Uint8Array(0), deadline))
  }

  /** Signals the process group; nothing happens once the command has ended. @throws GuestRequestError ENOENT */
  async signalKept(id: string, signal: number | NodeJS.Signals, deadline: Deadline): Promise<void> {
    await this.#ask(FrameType.signal, FrameType.done, encodeSignal(id, signal), deadline)
  }

  /** Kills it if it runs, and frees what is kept of it. @throws GuestRequestError ENOENT */
  async forget(id: string, deadline: Deadline): Promise<void> {
    await this.#ask(FrameType.forget, FrameType.done, encodeKeptId(id), deadline)
  }

  /** Ends the link; running commands are killed when the next link says hello, kept ones go on. */
  close(): void {
    this.#close({ reason: 'closed', message: 'the link was closed' })
  }

  async #run(message: Uint8Array, hasStdin: boolean, deadline: Deadline | undefined): Promise<RemoteCommand> {
    const remote = await this.#openInTurn(
      (id) => encodeMessage(FrameType.run, id, message, hasStdin ? 0 : FrameFlag.end),
      (id, send, wide) => new RemoteCommand(id, hasStdin, send, wide),
      deadline,
    )
    try {
      await (deadline === undefined ? remote.started : deadline.race(remote.started))
    } catch (error) {
      remote.abandon()
      throw error
    }
    return remote
  }

  #openInTurn<T extends LinkStream>(opening: Opening, make: MakeStream<T>, deadline: Deadline | undefined) {
    return this.#holdGate.pass(() => this.#open(opening, make), deadline)
  }

  #open<T extends LinkStream>(opening: Opening, make: MakeStream<T>, isUrgent = false): T {
    if (this.#isClosed) throw new GuestLinkLost('guest link: already closed')
    const id = this.#streams.takeId()
    const stream = make(id, (frame) => this.#send(frame), this.#streams.wide)
    this.#streams.set(id, stream)
    this.#send(opening(id), isUrgent)
    return stream
  }

  #greet(socket: Socket): void {
    this.#socket = socket
    this.#writer = new FrameWriter(socket, () => this.#close(TAKES_NOTHING))
    socket.on('error', (error) =>
      this.#close({ reason: 'lost', message: `the guest's socket failed: ${error.message}` }),
    )
    socket.on('close', () => this.#close({ reason: 'lost', message: "the guest's socket was closed" }))
    if (socket.destroyed) this.#close({ reason: 'lost', message: "the guest's socket was closed" })
    else socket.write(this.#handshake.opening)
  }

  async #ask(type: number, answerType: number, payload: Uint8Array, deadline: Deadline, flags = 0) {
    const opening: Opening = (id) => encodeMessage(type, id, payload, flags)
    const request = await this.#openInTurn(opening, () => new LinkRequest(answerType), deadline)
    return deadline.race(request.answered)
  }

  #onBytes(bytes: Uint8Array): void {
    if (this.#isClosed) return
    try {
      const framed = this.#handshake.find(bytes)
      if (framed !== undefined) this.#decoder.push(framed, (frame) => this.#onFrame(frame))
    } catch (error) {
      if (!(error instanceof GuestProtocolError)) throw error
      this.#greeted.reject(error)
      this.#close({ reason: 'protocol', message: error.message })
    }
  }

  #onFrame(frame: Frame): void {
    if (this.#isClosed) return
    if (this.#hello === undefined) {
      this.#hello = this.#handshake.answered(frame.payload, (opening) => this.#socket?.write(opening))
      if (this.#hello !== undefined) this.#greeted.resolve()
      return
    }
    if (frame.type === FrameType.reset) {
      throw new GuestProtocolError(`the guest ended the connection: ${readErrorPayload(frame.payload).text}`)
    }
    this.#streams.deliver(frame)
  }

  #send(frame: Uint8Array, isUrgent = false): void {
    if (this.#isClosed || this.#writer?.write(frame, isUrgent) !== false) return
    this.#close(TAKES_NOTHING)
  }

  #close(why: GuestLinkClosed): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#writer?.end()
    const error = new GuestLinkLost(`guest link: ${why.message}`)
    this.#greeted.reject(error)
    this.#holdGate.open()
    this.#streams.lose(error)
    this.#closed.resolve(why)
  }
}

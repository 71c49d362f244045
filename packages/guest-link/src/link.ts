import { encodeFrame, encodeMessage, FrameFlag, FrameType } from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'
import type { GuestAttachment } from './guest-attachment.ts'
import { encodeBuiltin, encodeCommand, type GuestCommand } from './guest-command.ts'
import { GuestFiles, type RunBuiltin } from './guest-files.ts'
import { GuestRequestError, GuestRunError } from './guest-link-error.ts'
import { memoryQuestion } from './guest-memory.ts'
import { GuestPorts } from './guest-ports.ts'
import type { GuestProcess } from './guest-process.ts'
import { encodeRelease, type GuestRefresh, type GuestRefreshing, type GuestRelease } from './guest-refresh.ts'
import type { GuestHello } from './handshake.ts'
import { HoldGate } from './hold-gate.ts'
import {
  completeKeepOptions,
  decodeKeptList,
  encodeAttach,
  encodeKeptId,
  encodeSignal,
  type KeepOptions,
  type KeptCommand,
} from './kept-command.ts'
import { LinkConnection } from './link-connection.ts'
import { LinkRefresh } from './link-refresh.ts'
import { LinkRequest } from './link-request.ts'
import type { LinkStream, MakeStream, Opening } from './link-streams.ts'
import { RemoteAttachment } from './remote-attachment.ts'
import { RemoteCommand } from './remote-command.ts'

/** What an agent asks of one guest: commands, kept commands, files, ports, identity. */
export class GuestLink {
  readonly #connection = new LinkConnection(() => this.#holdGate.open())
  /** Resolves when the link is no more, with the reason; never rejects. */
  readonly closed = this.#connection.closed
  readonly #runBuiltin: RunBuiltin = (name, argv, { user, deadline }) =>
    this.#run(encodeBuiltin(name, argv, user), true, deadline)
  readonly files = new GuestFiles(this.#runBuiltin)
  readonly ports = new GuestPorts({
    open: (opening, make, deadline) => this.#openInTurn(opening, make, deadline),
    listeners: (deadline) => this.#ask(FrameType.listeners, FrameType.listenerList, new Uint8Array(0), deadline),
  })
  readonly memory = memoryQuestion((...question) => this.#ask(...question))
  readonly #holdGate = new HoldGate({
    ask: (opening, answerType) => this.#connection.open(opening, () => new LinkRequest(answerType), true).answered,
    onOpen: () => this.#connection.letGo(),
  })

  /**
   * Connects to the guest behind a Unix socket, which need not exist yet, and waits until it answers.
   * @throws DeadlineExceeded; GuestLinkLost when the other end hangs up; GuestProtocolError on another protocol version
   */
  static async connect(socketPath: string, deadline: Deadline): Promise<GuestLink> {
    const link = new GuestLink()
    await link.#connection.connect(socketPath, deadline)
    return link
  }

  /** What the guest said of itself. */
  get hello(): GuestHello {
    return this.#connection.hello
  }

  /** One round trip, with an echo of up to 16384 bytes; a held guest answers too. @throws DeadlineExceeded, GuestLinkLost */
  async ping(deadline: Deadline, payload: Uint8Array = new Uint8Array(0)): Promise<Uint8Array> {
    const opening: Opening = (id) => encodeMessage(FrameType.ping, id, payload)
    return deadline.race(this.#connection.open(opening, () => new LinkRequest(FrameType.pong)).answered)
  }

  /** Gives a restored guest its own identity, before anything else; what is asked of it meanwhile it does when it is settled. */
  refresh(refresh: GuestRefresh, deadline: Deadline): GuestRefreshing {
    const opened = this.#holdGate.opening()
    return LinkRefresh.ask(refresh, deadline, opened, (opening, make) => this.#connection.open(opening, make, true))
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
    this.#connection.keep()
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
    this.#connection.close()
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
    return this.#holdGate.pass(() => this.#connection.open(opening, make), deadline)
  }

  async #ask(type: number, answerType: number, payload: Uint8Array, deadline: Deadline, flags = 0) {
    const opening: Opening = (id) => encodeMessage(type, id, payload, flags)
    const request = await this.#openInTurn(opening, () => new LinkRequest(answerType), deadline)
    return deadline.race(request.answered)
  }
}

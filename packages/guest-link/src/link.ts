import {
  encodeFrame,
  encodeMessage,
  FrameFlag,
  FrameType,
  GUEST_KEPT_MAX,
  GuestProtocolError,
} from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'
import { startGuestSpan, traceGuest } from '@offshoot/kit/otlp/telemetry'
import type { GuestAttachment } from './guest-attachment.ts'
import { encodeBuiltin, encodeCommand, type GuestCommand } from './guest-command.ts'
import { GuestFiles, type RunBuiltin } from './guest-files.ts'
import { GuestRequestError, GuestRunError } from './guest-link-error.ts'
import { memoryRequest } from './guest-memory.ts'
import { GuestPorts } from './guest-ports.ts'
import type { GuestProcess } from './guest-process.ts'
import { encodeRelease, type GuestRefresh, type RefreshProgress, type GuestRelease } from './guest-refresh.ts'
import type { GuestHello } from './handshake.ts'
import { HoldGate } from './hold-gate.ts'
import {
  withKeepDefaults,
  decodeKeptPage,
  encodeKeptSelection,
  isSelected,
  type KeptSelection,
  encodeAttach,
  encodeKeptId,
  encodeSignal,
  type KeepOptions,
  type KeptCommand,
} from './kept-command.ts'
import { LinkConnection } from './link-connection.ts'
import { LinkRefresh } from './link-refresh.ts'
import { LinkRequest } from './link-request.ts'
import type { LinkStream, MakeStream, FirstFrame } from './link-streams.ts'
import { RemoteAttachment } from './remote-attachment.ts'
import { RemoteCommand } from './remote-command.ts'

const FRAME_NAMES = new Map<number, string>(Object.entries(FrameType).map(([name, type]) => [type, name]))

/**
 * The link to one guest: runs commands, keeps commands, reads and writes files, connects to ports, sets the identity.
 */
export class GuestLink {
  readonly #connection = new LinkConnection(() => this.#holdGate.open())
  /** Resolves with the reason when the link has ended. Never rejects. */
  readonly closed = this.#connection.closed
  readonly #runBuiltin: RunBuiltin = (name, argv, { deadline, ...user }) =>
    this.#run(name, encodeBuiltin(name, argv, user), true, deadline)
  readonly files = new GuestFiles(this.#runBuiltin)
  readonly ports = new GuestPorts({
    open: (firstFrame, make, deadline) => this.#openWhenReleased(firstFrame, make, deadline),
    listeners: (deadline) => this.#ask(FrameType.listeners, FrameType.listenerList, new Uint8Array(0), deadline),
  })
  readonly memory = memoryRequest((...request) => this.#ask(...request))
  readonly #holdGate = new HoldGate({
    ask: (firstFrame, answerType) =>
      this.#connection.open(firstFrame, () => new LinkRequest(answerType), true).answered,
    onOpen: () => this.#connection.sendQueuedFrames(),
  })

  /**
   * Connects to the guest behind a Unix socket, which need not exist yet, and waits for its answer to HELLO.
   * @throws DeadlineExceeded; GuestLinkLost when the guest hangs up; GuestProtocolError on another protocol version
   */
  static async connect(socketPath: string, deadline: Deadline): Promise<GuestLink> {
    const link = new GuestLink()
    await link.#connection.connect(socketPath, deadline)
    return link
  }

  /** The guest's answer to HELLO. */
  get hello(): GuestHello {
    return this.#connection.hello
  }

  /**
   * One round trip with up to 16384 bytes, which the guest sends back. A held guest answers too.
   * @throws DeadlineExceeded, GuestLinkLost
   */
  async ping(deadline: Deadline, payload: Uint8Array = new Uint8Array(0)): Promise<Uint8Array> {
    const firstFrame: FirstFrame = (id) => encodeMessage(FrameType.ping, id, payload)
    return deadline.race(this.#connection.open(firstFrame, () => new LinkRequest(FrameType.pong)).answered)
  }

  /**
   * Gives a restored guest its own identity, before any other request. The guest serves later requests after SETTLED.
   */
  refresh(refresh: GuestRefresh, deadline: Deadline): RefreshProgress {
    const onBegun = this.#holdGate.opener()
    return LinkRefresh.ask(refresh, deadline, onBegun, (firstFrame, make) =>
      this.#connection.open(firstFrame, make, true),
    )
  }

  /**
   * Stops all processes of the guest until {@link release} or {@link refresh}, on this link or on a later one. They are
   * also stopped in a VM that is restored from a checkpoint taken meanwhile. Earlier requests are answered when this
   * returns. Later requests wait for the release.
   * @throws GuestRequestError ETIMEDOUT: the guest is not held; DeadlineExceeded: it may be held; GuestLinkLost
   */
  async hold(deadline: Deadline): Promise<void> {
    await traceGuest('hold', () => this.#holdGate.hold(deadline))
  }

  /**
   * Queues all frames but HOLD, REFRESH and RELEASE until the guest has answered a refresh or a release.
   * `frame-writer.ts` says why.
   */
  queueRequests(): void {
    this.#connection.queueFrames()
  }

  /**
   * The guest will be paused for long: waiting and new requests fail with GuestUnavailable until a release or refresh.
   */
  rejectRequests(): void {
    this.#holdGate.rejectRequests()
  }

  /** Sets clock and entropy of a guest, and ends its hold if it is held. @throws as refresh */
  async release(release: GuestRelease, deadline: Deadline): Promise<void> {
    const payload = encodeRelease(release)
    await traceGuest('release', () => this.#holdGate.release(FrameType.release, FrameType.released, payload, deadline))
  }

  /**
   * Prepares a snapshot: the guest syncs its disks and drops its page cache. @throws DeadlineExceeded, GuestLinkLost
   */
  async quiesce(deadline: Deadline): Promise<void> {
    await this.#ask(FrameType.quiesce, FrameType.quiesced, new Uint8Array(0), deadline)
  }

  /**
   * Runs a command; resolves when the program has started. Kills a command that has not started at the deadline.
   * @throws GuestRunError when it cannot start; DeadlineExceeded; GuestLinkLost
   */
  async run(command: GuestCommand, deadline?: Deadline): Promise<GuestProcess> {
    return this.#run('run', encodeCommand(command), command.stdin !== 'none', deadline)
  }

  /**
   * Starts a kept command, which outlives this link, under an id that the caller chooses (1 to 64 bytes of UTF-8). It
   * runs until it ends by itself, or by {@link signalKept} or {@link forget}. Its log grows up to `logBytes` and then
   * drops its oldest bytes. When there is no room, the guest forgets the command that ended first.
   *
   * @param options.logBytes 64 KiB to 16 MiB. Default: 1 MiB, 256 KiB for a terminal. All logs together: 64 MiB
   * @param options.label at most 1024 bytes, which {@link kept} returns. EINVAL over 120 bytes in earlier releases
   * @throws GuestRunError when it cannot start: EEXIST for an id in use, EAGAIN for more than 1024 running commands;
   *   DeadlineExceeded: it may have started; GuestLinkLost
   */
  async keep(command: GuestCommand, options: KeepOptions, deadline: Deadline): Promise<{ readonly pid: number }> {
    const message = encodeCommand(command, withKeepDefaults(command, options))
    const flags = command.stdin === 'none' ? FrameFlag.end : 0
    try {
      const started = await this.#ask(FrameType.run, FrameType.started, message, deadline, flags)
      return { pid: Buffer.from(started).readUInt32LE(0) }
    } catch (error) {
      throw error instanceof GuestRequestError ? new GuestRunError(error.errno, error.message) : error
    }
  }

  /**
   * Follows a kept command: its output from an offset on, then live. Several attachments may follow one command.
   *
   * @param options.fromOffset default: 0, which starts at the oldest byte in the log. `end`: live output only
   * @throws GuestRequestError ENOENT; DeadlineExceeded; GuestLinkLost
   */
  async attach(
    id: string,
    options: { readonly fromOffset?: number | 'end' },
    deadline: Deadline,
  ): Promise<GuestAttachment> {
    const payload = encodeAttach(id, options.fromOffset ?? 0)
    const remote = await this.#openWhenReleased(
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

  /** Lists the kept commands, ended ones included. @throws DeadlineExceeded, GuestLinkLost */
  async kept(deadline: Deadline, selection: KeptSelection = {}): Promise<KeptCommand[]> {
    const found: KeptCommand[] = []
    for (let firstSlot = 0; ;) {
      const payload = encodeKeptSelection(firstSlot, selection)
      const { commands, nextSlot } = decodeKeptPage(
        await this.#ask(FrameType.kept, FrameType.keptList, payload, deadline),
      )
      found.push(...commands.filter((command) => isSelected(command, selection)))
      if (nextSlot === null) return found
      if (nextSlot <= firstSlot || nextSlot >= GUEST_KEPT_MAX) throw new GuestProtocolError('bad KEPT_LIST')
      firstSlot = nextSlot
    }
  }

  /** Signals the process group. Has no effect once the command has ended. @throws GuestRequestError ENOENT */
  async signalKept(id: string, signal: number | NodeJS.Signals, deadline: Deadline): Promise<void> {
    await this.#ask(FrameType.signal, FrameType.done, encodeSignal(id, signal), deadline)
  }

  /** Kills a kept command if it runs, and frees its log and its id. @throws GuestRequestError ENOENT */
  async forget(id: string, deadline: Deadline): Promise<void> {
    await this.#ask(FrameType.forget, FrameType.done, encodeKeptId(id), deadline)
  }

  /** Ends the link. The guest kills running commands when the next link sends HELLO. Kept commands continue. */
  close(): void {
    this.#connection.close()
  }

  /** @param operation names the span, which lasts until the command has ended */
  async #run(
    operation: string,
    message: Uint8Array,
    hasStdin: boolean,
    deadline: Deadline | undefined,
  ): Promise<RemoteCommand> {
    const span = startGuestSpan(operation)
    try {
      const remote = await this.#start(message, hasStdin, deadline)
      if (span !== undefined) void remote.exited.catch((error: unknown) => span.fail(error)).finally(() => span.end())
      return remote
    } catch (error) {
      span?.fail(error)
      span?.end()
      throw error
    }
  }

  async #start(message: Uint8Array, hasStdin: boolean, deadline: Deadline | undefined): Promise<RemoteCommand> {
    const remote = await this.#openWhenReleased(
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

  #openWhenReleased<T extends LinkStream>(firstFrame: FirstFrame, make: MakeStream<T>, deadline: Deadline | undefined) {
    return this.#holdGate.runWhenOpen(() => this.#connection.open(firstFrame, make), deadline)
  }

  #ask(type: number, answerType: number, payload: Uint8Array, deadline: Deadline, flags = 0): Promise<Uint8Array> {
    const firstFrame: FirstFrame = (id) => encodeMessage(type, id, payload, flags)
    return traceGuest(FRAME_NAMES.get(type) ?? '', async () => {
      const request = await this.#openWhenReleased(firstFrame, () => new LinkRequest(answerType), deadline)
      return deadline.race(request.answered)
    })
  }
}

import { encodeFrame, FrameType, GuestProtocolError } from '@offshoot/contract/guest-frame'
import { Deadline } from '@offshoot/kit/deadline'
import { startGuestSpan } from '@offshoot/kit/otlp/telemetry'
import type { GuestConnection, GuestListener } from './guest-connection.ts'
import type { LinkStream, MakeStream, FirstFrame } from './link-streams.ts'
import { RemoteConnection } from './remote-connection.ts'
import { RemoteListener } from './remote-listener.ts'
import { encodeAddress } from './tcp-address.ts'

/** Milliseconds for the guest to hand over a waiting connection. */
const ACCEPT_MS = 10_000

/** The part of the link that this class uses. */
interface PortsLink {
  /** Opens a stream as soon as the guest is not held. @throws DeadlineExceeded, GuestLinkLost */
  open<T extends LinkStream>(firstFrame: FirstFrame, make: MakeStream<T>, deadline: Deadline): Promise<T>
  listeners(deadline: Deadline): Promise<Uint8Array>
}

/** The TCP ports of a guest. */
export class GuestPorts {
  readonly #link: PortsLink

  constructor(link: PortsLink) {
    this.#link = link
  }

  /**
   * Connects to a server on the guest's loopback addresses, 127.0.0.1 first. Aborts the connection at the deadline.
   * @throws GuestRequestError ECONNREFUSED when no server listens, EAGAIN over 512 connections; DeadlineExceeded;
   *   GuestLinkLost
   */
  async dial(port: number, deadline: Deadline): Promise<GuestConnection> {
    return this.#dial(encodeFrameWith(FrameType.dial, encodePort(port)), deadline)
  }

  /**
   * Connects from the guest to an address: its own, or one that its network reaches.
   * @throws as {@link dial}; ENOSYS from guests of earlier releases, ENETUNREACH, ETIMEDOUT; RangeError
   */
  async connect(address: string, port: number, deadline: Deadline): Promise<GuestConnection> {
    return this.#dial(encodeFrameWith(FrameType.connect, encodeAddress(address, port, 1)), deadline)
  }

  /**
   * Listens in the guest. Port 0: the kernel chooses one.
   * @throws GuestRequestError EADDRINUSE, EADDRNOTAVAIL, EAGAIN over 64 listeners, ENOSYS from guests of earlier
   *   releases; RangeError; DeadlineExceeded; GuestLinkLost
   */
  async listen(address: string, port: number, deadline: Deadline): Promise<GuestListener> {
    const listener = await this.#link.open(
      encodeFrameWith(FrameType.listen, encodeAddress(address, port, 0)),
      (id, send) => new RemoteListener(id, send, (stream) => this.#accept(stream)),
      deadline,
    )
    try {
      await deadline.race(listener.listening)
    } catch (error) {
      listener.close()
      throw error
    }
    return listener
  }

  /** Connections stay in the guest's backlog when it has no room for more: the next INCOMING tries again. */
  async #accept(listener: number): Promise<GuestConnection | null> {
    const payload = Buffer.alloc(4)
    payload.writeUInt32LE(listener)
    try {
      return await this.#dial(encodeFrameWith(FrameType.accept, payload), Deadline.after(ACCEPT_MS, 'a connection'))
    } catch {
      return null
    }
  }

  async #dial(firstFrame: FirstFrame, deadline: Deadline): Promise<GuestConnection> {
    const span = startGuestSpan('dial')
    try {
      return await this.#open(firstFrame, deadline)
    } catch (error) {
      span?.fail(error)
      throw error
    } finally {
      span?.end()
    }
  }

  async #open(firstFrame: FirstFrame, deadline: Deadline): Promise<GuestConnection> {
    const remote = await this.#link.open(firstFrame, (id, send, wide) => new RemoteConnection(id, send, wide), deadline)
    try {
      await deadline.race(remote.connected)
    } catch (error) {
      remote.abort()
      throw error
    }
    return remote
  }

  /**
   * The TCP ports that {@link dial} would reach, in ascending order; 1024 at most. @throws DeadlineExceeded,
   * GuestLinkLost
   */
  async listeners(deadline: Deadline): Promise<number[]> {
    return decodePorts(await this.#link.listeners(deadline))
  }
}

function encodeFrameWith(type: number, payload: Uint8Array): FirstFrame {
  return (id) => encodeFrame(type, id, payload)
}

/** The payload of DIAL. @throws RangeError for a number that is not a TCP port */
export function encodePort(port: number): Uint8Array {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new RangeError(`TCP port ${port}`)
  return Uint8Array.of(port & 0xff, port >> 8)
}

/** The payload of LISTENER_LIST, sorted. @throws GuestProtocolError */
export function decodePorts(payload: Uint8Array): number[] {
  if (payload.length % 2 !== 0) throw new GuestProtocolError('bad LISTENER_LIST')
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  return Array.from({ length: payload.length / 2 }, (_unused, index) => view.getUint16(2 * index, true)).toSorted(
    (a, b) => a - b,
  )
}

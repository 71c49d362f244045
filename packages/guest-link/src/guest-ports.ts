import { encodeFrame, FrameType, GuestProtocolError } from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'
import { startGuestSpan } from '@offshoot/kit/otlp/telemetry'
import type { GuestConnection } from './guest-connection.ts'
import type { LinkStream, MakeStream, FirstFrame } from './link-streams.ts'
import { RemoteConnection } from './remote-connection.ts'

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
    const span = startGuestSpan('dial')
    try {
      return await this.#dial(port, deadline)
    } catch (error) {
      span?.fail(error)
      throw error
    } finally {
      span?.end()
    }
  }

  async #dial(port: number, deadline: Deadline): Promise<GuestConnection> {
    const payload = encodePort(port)
    const remote = await this.#link.open(
      (id) => encodeFrame(FrameType.dial, id, payload),
      (id, send, wide) => new RemoteConnection(id, send, wide),
      deadline,
    )
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

import { FrameType, GuestProtocolError } from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'

const PAYLOAD_BYTES = 16

/** What a guest reports about its memory. The guest is not trusted: each number may be anything up to 2^64. */
export interface GuestMemory {
  readonly totalBytes: number
  readonly availableBytes: number
}

/** Sends a request as soon as the guest is not held, and returns its answer. */
type Ask = (type: number, answerType: number, payload: Uint8Array, deadline: Deadline) => Promise<Uint8Array>

/**
 * Asks the guest for its total and its available memory. The caller must limit the numbers.
 * @throws GuestRequestError ENOSYS from an older guest program; GuestProtocolError; DeadlineExceeded; GuestLinkLost
 */
export function memoryRequest(ask: Ask): (deadline: Deadline) => Promise<GuestMemory> {
  return async (deadline) => decode(await ask(FrameType.memory, FrameType.memoryUsage, new Uint8Array(0), deadline))
}

function decode(payload: Uint8Array): GuestMemory {
  if (payload.length !== PAYLOAD_BYTES) throw new GuestProtocolError('bad MEMORY_USAGE')
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  return { totalBytes: Number(view.getBigUint64(0, true)), availableBytes: Number(view.getBigUint64(8, true)) }
}

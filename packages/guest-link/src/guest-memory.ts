import { FrameType, GuestProtocolError } from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'

const PAYLOAD_BYTES = 16

/** What a guest says of its memory, in bytes: any two numbers up to 2^64, as the guest likes. */
export interface GuestMemory {
  readonly totalBytes: number
  readonly availableBytes: number
}

/** One question with one answer, in turn with what else is asked of the guest. */
type Ask = (type: number, answerType: number, payload: Uint8Array, deadline: Deadline) => Promise<Uint8Array>

/**
 * How much memory the guest says it has and could still give to programs. The caller must bound the numbers.
 * @throws GuestRequestError ENOSYS from an older guest program; GuestProtocolError; DeadlineExceeded; GuestLinkLost
 */
export function memoryQuestion(ask: Ask): (deadline: Deadline) => Promise<GuestMemory> {
  return async (deadline) => decode(await ask(FrameType.memory, FrameType.memoryUsage, new Uint8Array(0), deadline))
}

function decode(payload: Uint8Array): GuestMemory {
  if (payload.length !== PAYLOAD_BYTES) throw new GuestProtocolError('bad MEMORY_USAGE')
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  return { totalBytes: Number(view.getBigUint64(0, true)), availableBytes: Number(view.getBigUint64(8, true)) }
}

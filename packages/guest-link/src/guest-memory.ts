import { GuestProtocolError } from '@offshoot/contract/guest-frame'

const PAYLOAD_BYTES = 16

/** What a guest says of its memory, in bytes: any two numbers up to 2^64, as the guest likes. */
export interface GuestMemory {
  readonly totalBytes: number
  readonly availableBytes: number
}

/** @throws GuestProtocolError */
export function decodeMemoryUsage(payload: Uint8Array): GuestMemory {
  if (payload.length !== PAYLOAD_BYTES) throw new GuestProtocolError('bad MEMORY_USAGE')
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  return { totalBytes: Number(view.getBigUint64(0, true)), availableBytes: Number(view.getBigUint64(8, true)) }
}

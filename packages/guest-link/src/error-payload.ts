import { GuestProtocolError } from '@offshoot/contract/guest-frame'

const TEXT_MAX_BYTES = 1024

/** The payload of ERROR, FAILED and RESET: a Linux error number and a text for people. */
export function readErrorPayload(payload: Uint8Array): { errno: number; text: string } {
  if (payload.length < 4) throw new GuestProtocolError('bad error payload')
  const errno = new DataView(payload.buffer, payload.byteOffset).getUint32(0, true)
  return { errno, text: Buffer.from(payload.subarray(4, 4 + TEXT_MAX_BYTES)).toString('utf8') }
}

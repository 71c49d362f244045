import { CreditTarget, encodeFrame, FrameType, GuestProtocolError } from '@offshoot/contract/guest-frame'

const PAYLOAD_BYTES = 5

/** The CREDIT frame that grants `bytes` of an output. */
export function encodeCredit(stream: number, target: number, bytes: number): Uint8Array {
  const payload = Buffer.alloc(PAYLOAD_BYTES)
  payload.writeUInt8(target, 0)
  payload.writeUInt32LE(bytes, 1)
  return encodeFrame(FrameType.credit, stream, payload)
}

/** The bytes of stdin that the guest grants. @throws GuestProtocolError */
export function readCredit(payload: Uint8Array): number {
  if (payload.length !== PAYLOAD_BYTES || payload[0] !== CreditTarget.stdin) throw new GuestProtocolError('bad CREDIT')
  return Buffer.from(payload).readUInt32LE(1)
}

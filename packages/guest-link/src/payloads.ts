import { constants } from 'node:os'
import { CreditTarget, encodeFrame, FrameType, GuestProtocolError } from '@offshoot/contract/guest-frame'
import type { GuestExit } from './guest-process.ts'

const TEXT_MAX_BYTES = 1024

/** The payload of ERROR, FAILED, RESET and CLOSED: a Linux error number and a readable text. */
export function readErrorPayload(payload: Uint8Array): { errno: number; text: string } {
  if (payload.length < 4) throw new GuestProtocolError('bad error payload')
  const errno = new DataView(payload.buffer, payload.byteOffset).getUint32(0, true)
  return { errno, text: Buffer.from(payload.subarray(4, 4 + TEXT_MAX_BYTES)).toString('utf8') }
}

/** The payload of EXIT. @throws GuestProtocolError */
export function readExitPayload(payload: Uint8Array): GuestExit {
  const [exitCode, signal] = payload
  if (exitCode === undefined || signal === undefined) throw new GuestProtocolError('bad EXIT')
  return signal === 0 ? { exitCode, signal: null } : { exitCode: null, signal }
}

const CREDIT_BYTES = 5

/** The CREDIT frame that grants the guest `bytes` more of an output. */
export function encodeCredit(stream: number, target: number, bytes: number): Uint8Array {
  const payload = Buffer.alloc(CREDIT_BYTES)
  payload.writeUInt8(target, 0)
  payload.writeUInt32LE(bytes, 1)
  return encodeFrame(FrameType.credit, stream, payload)
}

/** The payload of CREDIT: the bytes of stdin that the guest grants. @throws GuestProtocolError */
export function readCredit(payload: Uint8Array): number {
  if (payload.length !== CREDIT_BYTES || payload[0] !== CreditTarget.stdin) throw new GuestProtocolError('bad CREDIT')
  return Buffer.from(payload).readUInt32LE(1)
}

/** The Linux number of a signal. @throws RangeError for an unknown signal */
export function signalNumber(signal: number | NodeJS.Signals): number {
  const number = typeof signal === 'number' ? signal : constants.signals[signal]
  if (!Number.isInteger(number) || number < 1 || number > 64) throw new RangeError(`no such signal: ${signal}`)
  return number
}

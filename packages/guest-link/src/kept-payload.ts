/** What the host sends about kept commands. */
import { GUEST_KEPT_ID_MAX_BYTES } from '@offshoot/contract/guest-frame'
import type { GuestCommand, KeptOptions } from './guest-command.ts'
import { signalNumber } from './signal-number.ts'

const LOG_BYTES = 1024 * 1024
/** Of a terminal: what a screen and some of its past need. */
const TERMINAL_LOG_BYTES = 256 * 1024
const OFFSET_BYTES = 8
const LIVE_ONLY = 2n ** 64n - 1n

/** What {@link KeptOptions} may leave out. */
export type KeepOptions = Pick<KeptOptions, 'id'> & Partial<KeptOptions>

export function completeKeepOptions(command: GuestCommand, options: KeepOptions): KeptOptions {
  const { label = '', logBytes = command.pty === undefined ? LOG_BYTES : TERMINAL_LOG_BYTES } = options
  return { id: options.id, label, logBytes }
}

/** Also the whole payload of FORGET. @throws RangeError for what cannot be an id */
export function encodeKeptId(id: string): Buffer {
  const bytes = Buffer.from(id)
  if (bytes.length === 0 || bytes.length > GUEST_KEPT_ID_MAX_BYTES || bytes.includes(0)) {
    throw new RangeError('the id of a kept command has 1 to 64 bytes')
  }
  return bytes
}

/** The payload of ATTACH. @throws RangeError */
export function encodeAttach(id: string, fromOffset: number | 'end'): Buffer {
  const offset = Buffer.alloc(OFFSET_BYTES)
  offset.writeBigUInt64LE(fromOffset === 'end' ? LIVE_ONLY : BigInt(fromOffset))
  return Buffer.concat([offset, encodeKeptId(id)])
}

/** The payload of SIGNAL. @throws RangeError */
export function encodeSignal(id: string, signal: number | NodeJS.Signals): Buffer {
  return Buffer.concat([Uint8Array.of(signalNumber(signal)), encodeKeptId(id)])
}

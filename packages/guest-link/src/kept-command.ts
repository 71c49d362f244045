import { GUEST_KEPT_ID_MAX_BYTES, GuestProtocolError } from '@offshoot/contract/guest-frame'
import type { GuestCommand, KeptOptions } from './guest-command.ts'
import type { GuestExit } from './guest-process.ts'
import { signalNumber } from './payloads.ts'

/** A kept command, as the guest lists it. */
export interface KeptCommand {
  readonly id: string
  /** The text that the host gave when it started the command. */
  readonly label: string
  readonly pid: number
  readonly isTerminal: boolean
  /** `null` while it runs, or while the guest still reads its last output. */
  readonly exit: GuestExit | null
  /** By the guest's clock. */
  readonly startedAt: Date
  readonly endedAt: Date | null
  /** Offset of the oldest byte in the log. */
  readonly oldestOffset: number
  /** Offset of the next byte: the number of bytes that it has written so far to both outputs. */
  readonly nextOffset: number
}

const ENTRY_BYTES = 44
const SELECTION_BYTES = 6
const NEXT_SLOT_BYTES = 2

/** Which kept commands a caller wants. Default: all. */
export interface KeptSelection {
  readonly id?: string | undefined
  /** Several commands may have had the same process id. */
  readonly pid?: number | undefined
}

export function isSelected({ id, pid }: KeptCommand, selection: KeptSelection): boolean {
  return (selection.id ?? id) === id && (selection.pid ?? pid) === pid
}

/** The payload of KEPT. Guests of earlier releases answer with all commands. @throws RangeError for an invalid id */
export function encodeKeptSelection(firstSlot: number, { id, pid = 0 }: KeptSelection): Buffer {
  const fixed = Buffer.alloc(SELECTION_BYTES)
  fixed.writeUInt16LE(firstSlot, 0)
  fixed.writeUInt32LE(pid, 2)
  return Buffer.concat([fixed, id === undefined ? Buffer.alloc(0) : encodeKeptId(id)])
}

export interface KeptPage {
  readonly commands: readonly KeptCommand[]
  /** Where the next page starts; `null` after the last one. */
  readonly nextSlot: number | null
}

/** The payload of KEPT_LIST. @throws GuestProtocolError */
export function decodeKeptPage(payload: Uint8Array): KeptPage {
  const bytes = Buffer.from(payload)
  const commands: KeptCommand[] = []
  let at = 0
  while (bytes.length - at > NEXT_SLOT_BYTES) {
    if (bytes.length - at < ENTRY_BYTES) throw new GuestProtocolError('bad KEPT_LIST')
    const entryBytes = ENTRY_BYTES + bytes.readUInt8(at) + labelBytes(bytes, at)
    if (at + entryBytes > bytes.length) throw new GuestProtocolError('bad KEPT_LIST')
    commands.push(decodeEntry(bytes.subarray(at, at + entryBytes)))
    at += entryBytes
  }
  if (at === bytes.length) return { commands, nextSlot: null }
  if (bytes.length - at < NEXT_SLOT_BYTES) throw new GuestProtocolError('bad KEPT_LIST')
  return { commands, nextSlot: bytes.readUInt16LE(at) }
}

function labelBytes(bytes: Buffer, at: number): number {
  return bytes.readUInt8(at + 1) + bytes.readUInt16LE(at + 6) * 256
}

function decodeEntry(entry: Buffer): KeptCommand {
  const idEnd = ENTRY_BYTES + entry.readUInt8(0)
  const isEnded = entry.readUInt8(2) !== 0
  const endedMs = readOffset(entry, 20)
  const signal = entry.readUInt8(5)
  return {
    id: entry.toString('utf8', ENTRY_BYTES, idEnd),
    label: entry.toString('utf8', idEnd),
    pid: entry.readUInt32LE(8),
    isTerminal: entry.readUInt8(3) !== 0,
    exit: !isEnded ? null : signal === 0 ? { exitCode: entry.readUInt8(4), signal: null } : { exitCode: null, signal },
    startedAt: new Date(readOffset(entry, 12)),
    endedAt: endedMs === 0 ? null : new Date(endedMs),
    oldestOffset: readOffset(entry, 28),
    nextOffset: readOffset(entry, 36),
  }
}

/** A number of bytes or milliseconds, at most 2^53 - 1. @throws GuestProtocolError */
export function readOffset(bytes: Buffer, at: number): number {
  const value = bytes.readBigUInt64LE(at)
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new GuestProtocolError('an offset beyond 2^53')
  return Number(value)
}

const LOG_BYTES = 1024 * 1024
/** Enough for a screen and some scrollback. */
const TERMINAL_LOG_BYTES = 256 * 1024
const OFFSET_BYTES = 8
const LIVE_ONLY = 2n ** 64n - 1n

/** As {@link KeptOptions}; all but the id have defaults. */
export type KeepOptions = Pick<KeptOptions, 'id'> & Partial<KeptOptions>

export function withKeepDefaults(command: GuestCommand, options: KeepOptions): KeptOptions {
  const { label = '', logBytes = command.pty === undefined ? LOG_BYTES : TERMINAL_LOG_BYTES } = options
  return { id: options.id, label, logBytes, waits: options.waits }
}

/** An id, which is also the payload of FORGET. @throws RangeError for an invalid id */
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

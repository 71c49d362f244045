import { GuestProtocolError } from '@offshoot/contract/guest-frame'
import type { GuestExit } from './guest-process.ts'

/** A command that belongs to no connection, as the guest tells of it. */
export interface KeptCommand {
  readonly id: string
  /** What the host called it when it was started. */
  readonly label: string
  readonly pid: number
  readonly isTerminal: boolean
  /** `null` while it runs, or its last output is being read. */
  readonly exit: GuestExit | null
  /** By the guest's clock. */
  readonly startedAt: Date
  readonly endedAt: Date | null
  /** Of the oldest byte that is kept. */
  readonly oldestOffset: number
  /** Of the byte that comes next: how much it has written so far, to both outputs. */
  readonly nextOffset: number
}

const ENTRY_BYTES = 44

/** The payload of KEPT_LIST. @throws GuestProtocolError */
export function decodeKeptList(payload: Uint8Array): KeptCommand[] {
  const bytes = Buffer.from(payload)
  const list: KeptCommand[] = []
  for (let at = 0; at < bytes.length;) {
    const entryBytes = ENTRY_BYTES + (bytes[at] ?? 0) + (bytes[at + 1] ?? 0)
    if (at + entryBytes > bytes.length) throw new GuestProtocolError('bad KEPT_LIST')
    list.push(decodeEntry(bytes.subarray(at, at + entryBytes)))
    at += entryBytes
  }
  return list
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

/** A number of bytes or milliseconds; beyond 2^53 no guest has got. @throws GuestProtocolError */
export function readOffset(bytes: Buffer, at: number): number {
  const value = bytes.readBigUInt64LE(at)
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new GuestProtocolError('a number that is no offset')
  return Number(value)
}

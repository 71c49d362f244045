/**
 * What the guest keeps for us about a background command: when it is to be killed, and what it is. In the guest and not
 * beside the sandbox's files, so that whatever becomes of the guest, a restart of its agent or a fork, takes it along.
 */
import { SHOWN_CMD_BYTES } from '@offshoot/contract/background-exec'

export interface BackgroundLabel {
  readonly timeoutAt: Date | null
  /** At most its first {@link SHOWN_CMD_BYTES} bytes. */
  readonly cmd: string
}

/** Milliseconds of Unix time in this base have 8 digits until 2059: with a space, they and the command fit. */
const BASE = 36

export function formatLabel(timeoutAt: Date | null, cmd: string): string {
  return `${timeoutAt?.getTime().toString(BASE) ?? ''} ${beginningOf(cmd)}`
}

export function parseLabel(label: string): BackgroundLabel {
  const space = label.indexOf(' ')
  const ms = Number.parseInt(label.slice(0, space), BASE)
  return { timeoutAt: Number.isNaN(ms) ? null : new Date(ms), cmd: label.slice(space + 1) }
}

/** Cut between two characters. */
function beginningOf(cmd: string): string {
  const bytes = Buffer.from(cmd)
  if (bytes.length <= SHOWN_CMD_BYTES) return cmd
  let end = SHOWN_CMD_BYTES
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

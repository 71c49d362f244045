/**
 * The label of a background command: its timeout and the start of its command line. The guest stores it, not the sandbox's
 * folder, so that the label follows the guest through hibernation, forks and restarts of the agent.
 */
import { SHOWN_CMD_BYTES } from '@offshoot/contract/background-exec'

/** As {@link SHOWN_CMD_BYTES}, for guests of earlier releases. */
const EARLIER_CMD_BYTES = 110

export interface BackgroundLabel {
  readonly timeoutAt: Date | null
  /** At most its first {@link SHOWN_CMD_BYTES} bytes. */
  readonly cmd: string
}

/** In this base, Unix milliseconds have 8 digits until 2059: they, a space and the command fit into a label. */
const BASE = 36

export function formatLabel(timeoutAt: Date | null, cmd: string, cmdBytes = SHOWN_CMD_BYTES): string {
  return `${timeoutAt?.getTime().toString(BASE) ?? ''} ${beginningOf(cmd, cmdBytes)}`
}

/** The same label, as guests of earlier releases take it. */
export function shortened(label: string): string {
  const { timeoutAt, cmd } = parseLabel(label)
  return formatLabel(timeoutAt, cmd, EARLIER_CMD_BYTES)
}

export function parseLabel(label: string): BackgroundLabel {
  const space = label.indexOf(' ')
  const ms = Number.parseInt(label.slice(0, space), BASE)
  return { timeoutAt: Number.isNaN(ms) ? null : new Date(ms), cmd: label.slice(space + 1) }
}

/** Cuts between two characters. */
function beginningOf(cmd: string, maxBytes: number): string {
  const bytes = Buffer.from(cmd)
  if (bytes.length <= maxBytes) return cmd
  let end = maxBytes
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

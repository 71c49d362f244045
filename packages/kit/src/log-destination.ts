import type { EventEmitter } from 'node:events'

/** Maximum bytes of lines buffered while the disk is full. Further lines are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024

/** Destination options: standard output, unbuffered. */
export const STANDARD_OUTPUT = { dest: 1, sync: true, maxLength: MAX_WAITING_BYTES } as const

/**
 * Ignores errors of a log destination. Otherwise a full disk would throw into the caller of the log, in the middle of a
 * request or of a change to a VM.
 */
export function ignoringErrors<Destination extends EventEmitter>(destination: Destination): Destination {
  destination.on('error', () => undefined)
  return destination
}

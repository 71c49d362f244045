import type { EventEmitter } from 'node:events'

/** Bytes of lines that wait for a full disk to have room again; what comes then is dropped. */
const MAX_WAITING_BYTES = 1024 * 1024

/** Options of a log's destination: standard output, each line at once. */
export const STANDARD_OUTPUT = { dest: 1, sync: true, maxLength: MAX_WAITING_BYTES } as const

/**
 * A log is nobody's reason to fail: a destination that cannot write, because the disk is full, would otherwise throw its error at
 * whatever was to be logged, in the middle of a request or of a change to a VM.
 */
export function unfailing<Destination extends EventEmitter>(destination: Destination): Destination {
  destination.on('error', () => undefined)
  return destination
}

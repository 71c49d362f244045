import type { IncomingMessage } from 'node:http'

/** Milliseconds a caller has to notice that it was answered before the end of what it sends. */
const DRAIN_MS = 30_000

/**
 * Reads to nowhere what is left of a request that has been answered: many clients look for an answer only when they have
 * sent everything, and one whose connection is closed before never sees it.
 */
export function drainRequest(raw: IncomingMessage): void {
  if (raw.complete) return
  raw.unpipe()
  raw.resume()
  const timer = setTimeout(() => raw.destroy(), DRAIN_MS)
  raw.once('close', () => clearTimeout(timer))
}

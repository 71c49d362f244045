import type { KnownAgent } from './agent-directory.ts'

/** Milliseconds between two looks whether the host is lost. */
const LOOK_MS = 500

/**
 * Gives up a call to a host when the host is lost. A packet that is lost on the way makes the call wait for minutes otherwise, and whatever
 * could be done without that host waits with it.
 * @param call must stop when its signal aborts: `signal` aborts, or the host is lost
 */
export async function whileHeard<T>(
  host: Pick<KnownAgent, 'isLost'>,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  const look = setInterval(() => {
    if (host.isLost) lost.abort(new Error('the host was lost'))
  }, LOOK_MS)
  try {
    return await call(AbortSignal.any([signal, lost.signal]))
  } finally {
    clearInterval(look)
  }
}

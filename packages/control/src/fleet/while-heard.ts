import type { KnownAgent } from './agent-directory.ts'

/** Milliseconds between two looks whether the host is lost. */
const LOOK_MS = 500

/**
 * Gives up a call to a host when the host is lost. Without this, the loss of one packet can make the call wait for minutes, and with it
 * whatever another host could do instead.
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

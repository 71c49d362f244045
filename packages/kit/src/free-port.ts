import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that Linux gives out by itself (ip_local_port_range): between our look and our listening no connection takes one. */
const FIRST = 10_000
const LAST = 32_767
const TRIES = 1_000

const given = new Set<number>()

/**
 * A TCP port that nobody listened on a moment ago, and another each time.
 * @throws when there is none
 */
export async function findFreePort(host = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST, LAST + 1)
    if (given.has(port) || !(await isPortFree(host, port))) continue
    given.add(port)
    return port
  }
  throw new Error(`no port of ${host} from ${FIRST} to ${LAST} is free`)
}

export async function isPortFree(host: string, port: number): Promise<boolean> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening') // rejects on 'error'
  } catch (error) {
    if (['EADDRINUSE', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}

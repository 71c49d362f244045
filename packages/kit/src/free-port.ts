import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the kernel's ephemeral range (ip_local_port_range), so that no outgoing connection takes the port before we
 * listen, and above the ports to which `fetch` does not connect (https://fetch.spec.whatwg.org/#port-blocking).
 */
const FIRST = 10_081
const LAST = 32_767
const TRIES = 1_000

const given = new Set<number>()

/** Returns a TCP port on which no process listens, a different one each time. @throws if there is none */
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

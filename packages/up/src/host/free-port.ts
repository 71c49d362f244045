import { createServer, type AddressInfo, type Server } from 'node:net'
import { once } from 'node:events'

/** A TCP port that nobody listened on a moment ago. */
export async function findFreePort(host: string): Promise<number> {
  const server = await listen(host, 0)
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export async function isPortFree(host: string, port: number): Promise<boolean> {
  try {
    const server = await listen(host, port)
    server.close()
    await once(server, 'close')
    return true
  } catch (error) {
    if (['EADDRINUSE', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

async function listen(host: string, port: number): Promise<Server> {
  const server = createServer().listen(port, host)
  await once(server, 'listening') // rejects on 'error'
  return server
}

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP proxy that breaks connections that carry many bytes, as a bad network does. */
export class CuttingProxy {
  /** Connections that were broken. */
  cuts = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  /** @param cutBytes of each of the first `times` connections that reach it, in one direction */
  static async to(url: string, cutBytes: number, times: number): Promise<CuttingProxy> {
    const { hostname, port } = new URL(url)
    const server = createServer((client) => {
      const upstream = connect(Number(port), hostname)
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        proxy.#sockets.add(from)
        let bytes = 0
        from.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes < cutBytes || proxy.cuts >= times) return
          proxy.cuts++
          client.destroy()
          upstream.destroy()
        })
        from.on('error', () => to.destroy())
        from.on('close', () => {
          proxy.#sockets.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    }).listen(0, '127.0.0.1')
    const proxy = new CuttingProxy(server)
    await once(server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

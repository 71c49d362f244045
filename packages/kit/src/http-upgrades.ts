import { type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/**
 * Upgrades that pass through the same routing as every other request, so that they are refused by the same answers.
 * The server needs {@link isUpgradeTo} for its `shouldUpgradeCallback`, or it would take every `Upgrade` header
 * (h2c, say) for one.
 */
export class HttpUpgrade {
  /** What came right behind the request. */
  readonly head: Buffer
  readonly #socket: Socket
  readonly #response: ServerResponse

  constructor(socket: Socket, head: Buffer, response: ServerResponse) {
    this.#socket = socket
    this.head = head
    this.#response = response
  }

  /** The connection, for whoever has agreed to the upgrade; from here on no answer can be given. */
  take(): Socket {
    this.#response.detachSocket(this.#socket)
    return this.#socket
  }
}

const upgrades = new WeakMap<IncomingMessage, HttpUpgrade>()

/** `undefined` for a request that asks for none. */
export function upgradeOf(request: IncomingMessage): HttpUpgrade | undefined {
  return upgrades.get(request)
}

/** Whether a request asks for one of these protocols; as a server's `shouldUpgradeCallback`. */
export function isUpgradeTo(...protocols: readonly string[]): (request: IncomingMessage) => boolean {
  const known = new Set(protocols)
  return ({ method, headers }) => method === 'GET' && known.has(headers.upgrade?.toLowerCase() ?? '')
}

export const isWebSocketUpgrade = isUpgradeTo('websocket')

/** Routes the server's upgrades by `route`, which answers them as requests or takes their connection. */
export function routeUpgrades(server: Server, route: RequestListener): void {
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    // Always one, on a server that listens on TCP.
    const socket = stream as Socket
    socket.on('error', () => socket.destroy())
    socket.setTimeout(0)
    socket.setNoDelay(true)
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    // Nobody parses what would come next.
    response.once('finish', () => socket.destroySoon())
    upgrades.set(request, new HttpUpgrade(socket, head, response))
    route(request, response)
  })
}

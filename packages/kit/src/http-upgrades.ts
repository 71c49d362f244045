import { type ClientRequest, type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/**
 * An upgrade that passes through the normal routing, so that refusals are normal answers. The server must set
 * `shouldUpgradeCallback` to {@link isUpgradeTo}; otherwise every `Upgrade` header (e.g. h2c) counts as an upgrade.
 */
export class HttpUpgrade {
  /** Bytes that arrived directly after the request. */
  readonly head: Buffer
  readonly #socket: Socket
  readonly #response: ServerResponse

  constructor(socket: Socket, head: Buffer, response: ServerResponse) {
    this.#socket = socket
    this.head = head
    this.#response = response
  }

  /** Hands over the connection after the upgrade is accepted. No answer can be sent afterwards. */
  take(): Socket {
    this.#response.detachSocket(this.#socket)
    return this.#socket
  }

  /**
   * Accepts the upgrade and hands over the connection.
   * @param headers names and values alternate; one byte for each character
   */
  accept(headers: readonly string[]): Socket {
    let head = 'HTTP/1.1 101 Switching Protocols\r\n'
    for (let at = 0; at + 1 < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`
    const socket = this.take()
    socket.write(`${head}\r\n`, 'latin1')
    return socket
  }
}

/** The answer of a server to a request for an upgrade. */
export type UpgradeAnswer =
  | {
      readonly kind: 'upgraded'
      readonly response: IncomingMessage
      readonly socket: Duplex
      /** Bytes that arrived together with the answer. */
      readonly head: Buffer
    }
  | { readonly kind: 'refused'; readonly response: IncomingMessage }

/** Sends a request for an upgrade. @throws Error if the connection fails, or if the request is destroyed before the answer */
export function sendUpgrade(request: ClientRequest): Promise<UpgradeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeAnswer>()
  request.once('upgrade', (response, socket, head) => resolve({ kind: 'upgraded', response, socket, head }))
  request.once('response', (response) => resolve({ kind: 'refused', response }))
  request.on('error', reject)
  request.end()
  return promise
}

const upgrades = new WeakMap<IncomingMessage, HttpUpgrade>()

/** `undefined` for a request without an upgrade. */
export function upgradeOf(request: IncomingMessage): HttpUpgrade | undefined {
  return upgrades.get(request)
}

/** Makes a server's `shouldUpgradeCallback` that accepts only these protocols. */
export function isUpgradeTo(...protocols: readonly string[]): (request: IncomingMessage) => boolean {
  const known = new Set(protocols)
  return ({ method, headers }) => method === 'GET' && known.has(headers.upgrade?.toLowerCase() ?? '')
}

export const isWebSocketUpgrade = isUpgradeTo('websocket')

/** Passes the server's upgrades to `route`, which answers them or takes their connection. */
export function routeUpgrades(server: Server, route: RequestListener): void {
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    // A server that listens on TCP always passes a Socket.
    const socket = stream as Socket
    socket.on('error', () => socket.destroy())
    socket.setTimeout(0)
    socket.setNoDelay(true)
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    // No parser reads further requests from this connection.
    response.once('finish', () => socket.destroySoon())
    upgrades.set(request, new HttpUpgrade(socket, head, response))
    route(request, response)
  })
}

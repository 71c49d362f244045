import { request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream'
import type { SandboxId } from '@offshoot/contract/ids'
import type { GatewayContext } from '../base/context.ts'
import { portClosed, sendPortRefusal, unavailable } from './port-refusal.ts'

/** Set by the edge on an answer of its own. */
const REFUSAL = 'x-offshoot-refusal'

export interface PortOfSandbox {
  readonly id: SandboxId
  /** The id as the client wrote it. */
  readonly shown: string
  readonly port: number
}

/** Forwards a request to a port of a sandbox through the edge, and gives its refusals in E2B's form. */
export function forwardPort(
  context: GatewayContext,
  { id, shown, port }: PortOfSandbox,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const forwarded = open(context, { id, port }, request)
  forwarded.once('error', (error) => {
    context.log.warn({ err: error, sandbox_id: id }, 'the edge did not answer')
    sendPortRefusal(request, response, unavailable(shown, 503, 'The sandbox cannot be reached'))
  })
  forwarded.once('response', (answer) => {
    const refused = answer.headers[REFUSAL]
    if (refused !== undefined) {
      answer.resume()
      const status = answer.statusCode ?? 502
      const isClosed = status === 502 && String(refused).startsWith('nothing is listening')
      sendPortRefusal(
        request,
        response,
        isClosed ? portClosed(shown, port) : unavailable(shown, status, String(refused)),
      )
      return
    }
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    pipeline(answer, response, () => undefined)
  })
  response.once('close', () => forwarded.destroy())
  pipeline(request, forwarded, () => undefined)
}

/** Joins an upgraded connection, e.g. of a WebSocket, with the edge's. */
export function forwardPortUpgrade(
  context: GatewayContext,
  target: Pick<PortOfSandbox, 'id' | 'port'>,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const forwarded = open(context, target, request)
  const fail = () => socket.destroy()
  forwarded.once('error', fail)
  forwarded.once('response', fail)
  forwarded.once('upgrade', ({ rawHeaders }, upstream, upstreamHead) => {
    const lines = rawHeaders.reduce((all, text, index) => all + text + (index % 2 === 0 ? ': ' : '\r\n'), '')
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`)
    socket.write(upstreamHead)
    upstream.write(head)
    pipeline(socket, upstream, () => undefined)
    pipeline(upstream, socket, () => undefined)
  })
  socket.once('error', () => forwarded.destroy())
  forwarded.end()
}

function open({ config }: GatewayContext, { id, port }: Pick<PortOfSandbox, 'id' | 'port'>, request: IncomingMessage) {
  const { edge } = config
  return send(new URL(request.url ?? '/', edge.url), {
    method: request.method,
    headers: { ...request.headers, host: `${port}-${id}.${edge.suffix}` },
    agent: false,
  })
}

import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { REQUEST_ID } from '../../platform/http/request-id.ts'

/** Request headers that describe the body and the wanted answer. Credentials and cookies are not forwarded. */
const ASKED = [
  'accept',
  'content-encoding',
  'content-length',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-event-id',
  'range',
] as const

/** Further headers of an upgrade. Caller and agent negotiate extensions and subprotocols. */
const UPGRADE = [
  'connection',
  'upgrade',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
] as const

/** Answer headers that belong to one connection, or that control sets itself. */
const NOT_ANSWERED = new Set([
  'connection',
  'date',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
])

export function forwardedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return pick(headers, ASKED)
}

export function forwardedUpgradeHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return pick(headers, [...UPGRADE, 'last-event-id'])
}

export function answeredHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const answered: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !NOT_ANSWERED.has(name)) answered[name] = value
  }
  return answered
}

/** The headers of control's answer to an upgrade: names and values alternate. @param answered those of the other server */
export function switchingHeaders(request: FastifyRequest, answered: ReturnType<typeof answeredHeaders>): string[] {
  const theirs = Object.entries(answered).flatMap(([name, values]) => [values].flat().flatMap((value) => [name, value]))
  return ['connection', 'Upgrade', 'upgrade', 'websocket', REQUEST_ID, request.id, ...theirs]
}

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const name of names) {
    const value = headers[name]
    if (typeof value === 'string') picked[name] = value
  }
  return picked
}

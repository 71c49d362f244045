import type { IncomingHttpHeaders } from 'node:http'

/** Of a request: what says what its body is, and which answer is wanted. Credentials and cookies stay here. */
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

/** Of an upgrade, beside those. Extensions and subprotocols are between the caller and the agent. */
const UPGRADE = [
  'connection',
  'upgrade',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
] as const

/** Of an answer: what belongs to one connection, and what we say ourselves. */
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

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const name of names) {
    const value = headers[name]
    if (typeof value === 'string') picked[name] = value
  }
  return picked
}

/** Headers that belong to one connection (RFC 9110, 7.6.1), with those that say how a body travels there. */
const HOP_BY_HOP = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
])

/** Whether a header stays behind; `connection` is what the message's own `Connection` headers name. */
export function isHopByHop(name: string, connection: ReadonlySet<string> | null): boolean {
  return HOP_BY_HOP.has(name) || (connection?.has(name) ?? false)
}

/** The names in `Connection` headers, which stay behind too; `null` for none but the usual ones. */
export function namedByConnection(value: string | undefined): ReadonlySet<string> | null {
  if (value === undefined || value === 'keep-alive' || value === 'close' || value === 'Upgrade') return null
  return new Set(
    value
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  )
}

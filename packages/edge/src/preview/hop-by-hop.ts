/** Hop-by-hop headers (RFC 9110, 7.6.1), and those that describe the transfer of a body. */
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

/** Whether a header must not be forwarded. `connection`: names from the message's own `Connection` headers. */
export function isHopByHop(name: string, connection: ReadonlySet<string> | null): boolean {
  return HOP_BY_HOP.has(name) || (connection?.has(name) ?? false)
}

/** Header names listed in `Connection`, which are hop-by-hop too; `null` if it lists none beyond the usual ones. */
export function namedByConnection(value: string | undefined): ReadonlySet<string> | null {
  if (value === undefined || value === 'keep-alive' || value === 'close' || value === 'Upgrade') return null
  return new Set(
    value
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  )
}

import { isIPv4, isIPv6 } from 'node:net'
import { GuestProtocolError } from '@offshoot/contract/guest-frame'

const IPV4_BYTES = 4
const IPV6_BYTES = 16
const PORT_BYTES = 2

/** The payload of CONNECT and LISTEN. @throws RangeError for a text that is no IP address, or for no TCP port */
export function encodeAddress(address: string, port: number, lowestPort: 0 | 1): Uint8Array {
  if (!Number.isInteger(port) || port < lowestPort || port > 65_535) throw new RangeError(`TCP port ${port}`)
  return Uint8Array.of(port & 0xff, port >> 8, ...bytesOf(address))
}

/** The payload of CONNECTED: the other end of an accepted connection. @throws GuestProtocolError */
export function readPeer(payload: Uint8Array): { readonly address: string; readonly port: number } | null {
  if (payload.length === 0) return null
  const bytes = payload.subarray(PORT_BYTES)
  if (bytes.length !== IPV4_BYTES && bytes.length !== IPV6_BYTES) throw new GuestProtocolError('bad CONNECTED')
  const address = bytes.length === IPV4_BYTES ? bytes.join('.') : ipv6Of(bytes)
  return { address, port: (payload[0] ?? 0) | ((payload[1] ?? 0) << 8) }
}

function bytesOf(address: string): number[] {
  if (isIPv4(address)) return address.split('.').map(Number)
  if (!isIPv6(address) || address.includes('%')) throw new RangeError(`IP address ${address}`)
  // The URL parser writes the last 32 bits as hexadecimal groups too.
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = written.split('::')
  const [first, last] = [groupsOf(head), groupsOf(tail ?? '')]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0')
  return [...first, ...zeros, ...last].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

function ipv6Of(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_unused, index) =>
    (((bytes[2 * index] ?? 0) << 8) | (bytes[2 * index + 1] ?? 0)).toString(16),
  )
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

/**
 * First packet of a PostgreSQL connection (protocol 3.0, "Message Formats"): a length, a code, and for a startup pairs
 * of strings.
 */
const SSL_REQUEST = 80_877_103
const GSS_REQUEST = 80_877_104
const CANCEL_REQUEST = 80_877_102
const HEAD_BYTES = 8
/** The server's own limit. */
export const MAX_PACKET_BYTES = 10_000

export type FirstPacket =
  | { readonly kind: 'tls' }
  /** GSS (Kerberos) encryption. Clients that have a ticket ask for it first. */
  | { readonly kind: 'gss' }
  | { readonly kind: 'cancel'; readonly key: string; readonly packet: Buffer }
  | { readonly kind: 'startup'; readonly version: number; readonly parameters: ReadonlyMap<string, string> }
  | { readonly kind: 'invalid' }

/** @returns the first packet in `bytes` and its length; `null` while it is incomplete */
export function readFirstPacket(bytes: Buffer): { readonly packet: FirstPacket; readonly length: number } | null {
  if (bytes.length < HEAD_BYTES) return null
  const length = bytes.readInt32BE(0)
  if (length < HEAD_BYTES || length > MAX_PACKET_BYTES) return { packet: { kind: 'invalid' }, length: bytes.length }
  if (bytes.length < length) return null
  return { packet: parse(bytes.readInt32BE(4), bytes.subarray(0, length)), length }
}

function parse(code: number, packet: Buffer): FirstPacket {
  if (code === SSL_REQUEST && packet.length === HEAD_BYTES) return { kind: 'tls' }
  if (code === GSS_REQUEST && packet.length === HEAD_BYTES) return { kind: 'gss' }
  if (code === CANCEL_REQUEST && packet.length >= 16) return { kind: 'cancel', key: packet.toString('hex', 8), packet }
  if (code >> 16 !== 3) return { kind: 'invalid' }
  const parameters = readParameters(packet.subarray(HEAD_BYTES))
  return parameters === null ? { kind: 'invalid' } : { kind: 'startup', version: code, parameters }
}

/** Names and values, each terminated by a zero, and one more zero at the end. */
function readParameters(bytes: Buffer): Map<string, string> | null {
  const texts = bytes.toString('utf8').split('\0')
  if (texts.pop() !== '' || texts.pop() !== '' || texts.length % 2 !== 0) return null
  const parameters = new Map<string, string>()
  for (let at = 0; at < texts.length; at += 2) {
    const [name = '', value = ''] = texts.slice(at, at + 2)
    // Refuse duplicates and empty names, which two parsers could read differently.
    if (name === '' || parameters.has(name)) return null
    parameters.set(name, value)
  }
  return parameters
}

export function startupPacket(version: number, parameters: ReadonlyMap<string, string>): Buffer {
  const text = [...parameters].map(([name, value]) => `${name}\0${value}\0`).join('')
  const body = Buffer.from(`${text}\0`)
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeInt32BE(HEAD_BYTES + body.length, 0)
  head.writeInt32BE(version, 4)
  return Buffer.concat([head, body])
}

import { isUtf8 } from 'node:buffer'

const UNRESERVED = /[\w.~/-]/

/** A name in JSON: as text, and where that loses bytes also percent-encoded, under `<key>_encoded`. */
export function shownName<Key extends string>(key: Key, bytes: Buffer): ShownName<Key> {
  const text = { [key]: bytes.toString() }
  const shown = isUtf8(bytes) ? text : { ...text, [`${key}_encoded`]: percentEncode(bytes) }
  // A computed key has no type of its own.
  return shown as ShownName<Key>
}

type ShownName<Key extends string> = Record<Key, string> & Partial<Record<`${Key}_encoded`, string>>

function percentEncode(bytes: Buffer): string {
  return [...bytes].map((byte) => encodeByte(byte)).join('')
}

function encodeByte(byte: number): string {
  const character = String.fromCharCode(byte)
  return UNRESERVED.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

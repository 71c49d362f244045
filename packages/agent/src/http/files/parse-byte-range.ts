/** Part of a file: `offset` of its first byte and `length`, both in bytes and within the file. */
export interface ByteRange {
  readonly offset: number
  readonly length: number
}

/**
 * Parses a `Range` header for a file of `sizeBytes` (RFC 9110, 14). Several ranges, other units and malformed headers count
 * as no header, which the RFC allows.
 * @returns `null` for the whole file, `unsatisfiable` for a range outside of it
 */
export function parseByteRange(header: string | undefined, sizeBytes: number): ByteRange | 'unsatisfiable' | null {
  const [, from = '', to = ''] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '') ?? []
  if (from === '' && to === '') return null
  if (from === '') return sized(Math.max(0, sizeBytes - Number(to)), sizeBytes)
  if (to !== '' && Number(to) < Number(from)) return null
  return sized(Number(from), to === '' ? sizeBytes : Math.min(sizeBytes, Number(to) + 1))
}

function sized(offset: number, end: number): ByteRange | 'unsatisfiable' {
  return offset < end ? { offset, length: end - offset } : 'unsatisfiable'
}

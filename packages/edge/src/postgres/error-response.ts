/** SQLSTATEs of the edge's own errors. */
export const SQLSTATE = {
  protocolViolation: '08P01',
  invalidAuthorization: '28000',
  noSuchDatabase: '3D000',
  tooManyConnections: '53300',
  outOfMemory: '53200',
  cannotConnectNow: '57P03',
} as const

/** Of a database that exists, if nothing more is known. */
export const UNREACHABLE = 'database cannot be reached just now'

/** A refusal that PostgreSQL clients can parse and print. */
export class ConnectionRefused extends Error {
  override readonly name = 'ConnectionRefused'
  readonly code: string
  readonly hint: string | undefined

  constructor(code: string, message: string, hint?: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.hint = hint
  }
}

/** Encodes an `ErrorResponse` that ends the connection. */
export function errorResponse({ code, message, hint }: ConnectionRefused): Buffer {
  const fields = [`SFATAL`, `VFATAL`, `C${code}`, `M${message}`, ...(hint === undefined ? [] : [`H${hint}`])]
  const body = Buffer.from(`${fields.join('\0')}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}

/** Public keys of SSH (RFC 4253, RFC 5656, RFC 8709, OpenSSH's PROTOCOL.u2f) and their signatures. */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { SshFormatError, SshReader, string } from './ssh-wire.ts'

/** Bits of an RSA key. */
const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 16_384
/** A security key's flag: its user has touched it. */
const USER_PRESENT = 0x01
/** Maximum bytes of a key, a certificate or a signature. */
const MAX_BYTES = 16 * 1024

const CURVES = { nistp256: 'P-256', nistp384: 'P-384', nistp521: 'P-521' } as const
type Curve = keyof typeof CURVES
const HASHES: Readonly<Record<Curve, string>> = { nistp256: 'sha256', nistp384: 'sha384', nistp521: 'sha512' }
const RSA_HASHES: Readonly<Record<string, string>> = { 'rsa-sha2-256': 'sha256', 'rsa-sha2-512': 'sha512' }

export interface SshPublicKey {
  /** For example `ssh-ed25519`. */
  readonly type: string
  /** As SSH sends it. */
  readonly blob: Buffer
  readonly key: KeyObject
  /** The relying party of a security key; `null` for other keys. */
  readonly application: string | null
}

/** The types of keys that {@link readPublicKey} knows. */
export const SSH_KEY_TYPES = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
] as const

/** @throws SshFormatError for malformed bytes, an unknown type, and an RSA key below 2048 bits */
export function parsePublicKey(blob: Uint8Array): SshPublicKey {
  if (blob.length > MAX_BYTES) throw new SshFormatError('key too long')
  const reader = new SshReader(blob)
  const key = readPublicKey(reader.text(), reader)
  reader.end()
  return key
}

/** Reads the fields of a key, after its type. They are the same in a certificate. @throws SshFormatError */
export function readPublicKey(type: string, reader: SshReader): SshPublicKey {
  switch (type) {
    case 'ssh-ed25519':
      return made(type, [reader.string()], ed25519)
    case 'sk-ssh-ed25519@openssh.com':
      return made(type, [reader.string(), reader.string()], ed25519)
    case 'ssh-rsa':
      return made(type, [reader.string(), reader.string()], rsa)
    case 'ecdsa-sha2-nistp256':
    case 'ecdsa-sha2-nistp384':
    case 'ecdsa-sha2-nistp521':
      return made(type, [reader.string(), reader.string()], ecdsa)
    case 'sk-ecdsa-sha2-nistp256@openssh.com':
      return made(type, [reader.string(), reader.string(), reader.string()], ecdsa)
    default:
      throw new SshFormatError(`keys of type ${type.slice(0, 64)} are not supported`)
  }
}

/** Reads a line of an `.pub` file: `TYPE BASE64 [COMMENT]`. @throws SshFormatError */
export function parsePublicKeyLine(line: string): SshPublicKey & { readonly comment: string } {
  const [, type, base64, comment = ''] =
    /^\s*([a-z0-9@.-]+) +([A-Za-z0-9+/]+={0,2})(?: +([^\r\n]*?))?\s*$/.exec(line) ?? []
  if (type === undefined || base64 === undefined) throw new SshFormatError('not a line "TYPE BASE64 [COMMENT]"')
  const key = parsePublicKey(Buffer.from(base64, 'base64'))
  if (key.type !== type) throw new SshFormatError('the type in the line is not the type of the key')
  return { ...key, comment }
}

/** `TYPE BASE64`, as in `known_hosts`. */
export function publicKeyLine({ type, blob }: Pick<SshPublicKey, 'type' | 'blob'>): string {
  return `${type} ${blob.toString('base64')}`
}

/** As `ssh-keygen -l` prints it: `SHA256:…`. */
export function fingerprintOf(blob: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replaceAll('=', '')}`
}

/**
 * Whether a key made a signature in SSH's format.
 * @param algorithm the signature algorithm that the caller agreed to; SHA-1 is never accepted
 */
export function isSignedBy(key: SshPublicKey, algorithm: string, data: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length > MAX_BYTES) return false
  try {
    const reader = new SshReader(signature)
    if (reader.text() !== algorithm) return false
    const bytes = reader.string()
    if (key.application !== null) return isSignedByToken(key, key.application, { algorithm, data, bytes, reader })
    reader.end()
    return isSigned(key, algorithm, data, bytes)
  } catch (error) {
    if (error instanceof SshFormatError) return false
    throw error
  }
}

interface TokenSignature {
  readonly algorithm: string
  readonly data: Uint8Array
  readonly bytes: Buffer
  readonly reader: SshReader
}

/** A security key signs its own statement about the data. */
function isSignedByToken(key: SshPublicKey, application: string, signature: TokenSignature): boolean {
  const { algorithm, data, bytes, reader } = signature
  const state = reader.take(5)
  reader.end()
  const stated = Buffer.concat([sha256(application), state, sha256(data)])
  return ((state[0] ?? 0) & USER_PRESENT) !== 0 && isSigned(key, algorithm, stated, bytes)
}

function sha256(of: string | Uint8Array): Buffer {
  return createHash('sha256').update(of).digest()
}

function isSigned({ type, key }: SshPublicKey, algorithm: string, data: Uint8Array, bytes: Buffer): boolean {
  if (type === 'ssh-rsa') {
    const hash = RSA_HASHES[algorithm]
    return hash !== undefined && verify(hash, data, key, bytes)
  }
  if (algorithm !== type) return false
  const curve = curveOf(type)
  if (curve === null) return verify(null, data, key, bytes)
  const reader = new SshReader(bytes)
  const numbers = [reader.mpint(), reader.mpint()]
  reader.end()
  const width = Math.ceil(bitsOf(curve) / 8)
  const fixed = numbers.map((number) => {
    if (number.length > width) throw new SshFormatError('signature too long')
    return Buffer.concat([Buffer.alloc(width - number.length), number])
  })
  return verify(HASHES[curve], data, { key, dsaEncoding: 'ieee-p1363' }, Buffer.concat(fixed))
}

function made(type: string, fields: readonly Buffer[], keyOf: (fields: readonly Buffer[]) => KeyObject): SshPublicKey {
  const application = type.startsWith('sk-') ? (fields.at(-1)?.toString() ?? '') : null
  const blob = Buffer.concat([string(type), ...fields.map(string)])
  try {
    return { type, blob, key: keyOf(fields), application }
  } catch (error) {
    if (error instanceof SshFormatError) throw error
    throw new SshFormatError(`not a key of type ${type}`, { cause: error })
  }
}

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

function ed25519([point = Buffer.alloc(0)]: readonly Buffer[]): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: base64url(point) }, format: 'jwk' })
}

function ecdsa([name = Buffer.alloc(0), point = Buffer.alloc(0)]: readonly Buffer[]): KeyObject {
  const curve = name.toString() as Curve
  if (!(curve in CURVES)) throw new SshFormatError('unknown curve')
  const width = Math.ceil(bitsOf(curve) / 8)
  if (point.length !== 1 + 2 * width || point[0] !== 4) throw new SshFormatError('not an uncompressed point')
  const x = base64url(point.subarray(1, 1 + width))
  const y = base64url(point.subarray(1 + width))
  return createPublicKey({ key: { kty: 'EC', crv: CURVES[curve], x, y }, format: 'jwk' })
}

function rsa([exponent = Buffer.alloc(0), modulus = Buffer.alloc(0)]: readonly Buffer[]): KeyObject {
  const numbers = new SshReader(Buffer.concat([string(exponent), string(modulus)]))
  const jwk = { kty: 'RSA', e: base64url(numbers.mpint()), n: base64url(numbers.mpint()) }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const { modulusLength: bits = 0 } = key.asymmetricKeyDetails ?? {}
  if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS) throw new SshFormatError(`RSA keys have ${MIN_RSA_BITS} bits or more`)
  return key
}

function curveOf(type: string): Curve | null {
  const name = /nistp\d{3}/.exec(type)?.[0]
  return name === undefined ? null : (name as Curve)
}

function bitsOf(curve: Curve): number {
  return Number(curve.slice('nistp'.length))
}

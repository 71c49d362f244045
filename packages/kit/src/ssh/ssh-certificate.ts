/** User certificates of OpenSSH (its PROTOCOL.certkeys). */
import { createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isSignedBy, parsePublicKey, readPublicKey, type SshPublicKey } from './ssh-public-key.ts'
import { SshFormatError, SshReader, string, uint32, uint64 } from './ssh-wire.ts'

const SUFFIX = '-cert-v01@openssh.com'
const USER = 1
const MAX_BYTES = 16 * 1024

/** An Ed25519 key that signs certificates, or that is a server's identity. */
export interface SshKeyPair {
  readonly publicKey: SshPublicKey
  readonly privateKey: KeyObject
}

export interface SshCertificate {
  readonly key: SshPublicKey
  readonly serial: bigint
  readonly keyId: string
  readonly principals: readonly string[]
  /** Seconds since 1970. */
  readonly validAfter: number
  readonly validBefore: number
  readonly criticalOptions: ReadonlyMap<string, Buffer>
  readonly extensions: ReadonlyMap<string, Buffer>
}

/** Whether a key's type is one of a certificate. */
export function isCertificateType(type: string): boolean {
  return type.endsWith(SUFFIX)
}

/** @param pem PKCS #8 of an Ed25519 key */
export function keyPairOf(pem: string): SshKeyPair {
  const privateKey = createPrivateKey(pem)
  const { x = '' } = privateKey.export({ format: 'jwk' })
  return {
    publicKey: parsePublicKey(Buffer.concat([string('ssh-ed25519'), string(Buffer.from(x, 'base64url'))])),
    privateKey,
  }
}

/** Signs a certificate. @returns its bytes, and the line of a `-cert.pub` file */
export function signCertificate(
  authority: SshKeyPair,
  { key, ...fields }: SshCertificate,
): { readonly blob: Buffer; readonly line: string } {
  const type = `${key.type}${SUFFIX}`.replace('@openssh.com-', '-')
  // The type is the first field of the key, and the certificate repeats the others.
  const ofKey = key.blob.subarray(4 + Buffer.byteLength(key.type))
  const body = Buffer.concat([
    string(type),
    string(randomBytes(32)),
    ofKey,
    uint64(fields.serial),
    uint32(USER),
    string(fields.keyId),
    string(Buffer.concat(fields.principals.map(string))),
    uint64(BigInt(fields.validAfter)),
    uint64(BigInt(fields.validBefore)),
    optionsOf(fields.criticalOptions),
    optionsOf(fields.extensions),
    string(''),
    string(authority.publicKey.blob),
  ])
  const signature = Buffer.concat([string('ssh-ed25519'), string(sign(null, body, authority.privateKey))])
  const blob = Buffer.concat([body, string(signature)])
  return { blob, line: `${type} ${blob.toString('base64')}` }
}

/**
 * Reads a user certificate and verifies that the authority signed it. The caller checks its times, its principals and
 * its options.
 * @throws SshFormatError for everything else, also for a host's certificate and one of another authority
 */
export function readCertificate(blob: Uint8Array, authority: SshPublicKey): SshCertificate {
  if (blob.length > MAX_BYTES) throw new SshFormatError('certificate too long')
  const reader = new SshReader(blob)
  const type = reader.text()
  if (!isCertificateType(type)) throw new SshFormatError('not a certificate')
  reader.string()
  const key = readPublicKey(keyTypeOf(type), reader)
  const serial = reader.uint64()
  if (reader.uint32() !== USER) throw new SshFormatError('not a certificate of a user')
  const certificate = {
    key,
    serial,
    keyId: reader.text(),
    principals: textsOf(reader.string()),
    validAfter: secondsOf(reader.uint64()),
    validBefore: secondsOf(reader.uint64()),
    criticalOptions: readOptions(reader.string()),
    extensions: readOptions(reader.string()),
  }
  reader.string()
  const signer = reader.string()
  const signed = Buffer.from(blob.buffer, blob.byteOffset, reader.position)
  const signature = reader.string()
  reader.end()
  if (!signer.equals(authority.blob) || !isSignedBy(authority, 'ssh-ed25519', signed, signature))
    throw new SshFormatError('not signed by this authority')
  return certificate
}

/** The type of the key in a certificate: that of `sk-` keys keeps its domain. */
function keyTypeOf(type: string): string {
  const name = type.slice(0, -SUFFIX.length)
  return name.startsWith('sk-') ? `${name}@openssh.com` : name
}

/** An option's value is itself a string, inside of a string. */
function optionsOf(options: ReadonlyMap<string, Buffer>): Buffer {
  const sorted = [...options].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return string(
    Buffer.concat(
      sorted.flatMap(([name, value]) => [string(name), value.length === 0 ? string('') : string(string(value))]),
    ),
  )
}

function readOptions(bytes: Buffer): Map<string, Buffer> {
  const reader = new SshReader(bytes)
  const options = new Map<string, Buffer>()
  while (!reader.isAtEnd) {
    const name = reader.text()
    const value = reader.string()
    if (options.has(name)) throw new SshFormatError('an option is repeated')
    options.set(name, value.length === 0 ? value : innerOf(value))
  }
  return options
}

function innerOf(value: Buffer): Buffer {
  const reader = new SshReader(value)
  const inner = reader.string()
  reader.end()
  return inner
}

function textsOf(bytes: Buffer): string[] {
  const reader = new SshReader(bytes)
  const texts: string[] = []
  while (!reader.isAtEnd) texts.push(reader.text())
  return texts
}

/** A time beyond JavaScript's integers is as good as never. */
function secondsOf(value: bigint): number {
  return Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : value)
}

import { createHash, randomBytes, type webcrypto } from 'node:crypto'
// The x509 library below needs this import first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { ALGORITHM, keyPairOf, makePrivateKey } from './certificate-request.ts'

const AUTHORITY_SECONDS = 10 * 365 * 24 * 60 * 60
/** Tolerance for hosts whose clock is behind. */
const BACKDATED_MS = 60 * 60_000
/** Characters. A request with a P-256 key has about 500. */
const MAX_REQUEST_CHARS = 16 * 1024

/** In PEM. */
export interface AuthorityPem {
  readonly certificate: string
  readonly key: string
}

/** The request is malformed, its signature is wrong, or its key is not of the accepted kind. */
export class UnusableRequest extends Error {
  override readonly name = 'UnusableRequest'
}

/** Makes the key and the certificate of a new authority. @param name its common name */
export async function makeAuthority(name: string, seconds = AUTHORITY_SECONDS): Promise<AuthorityPem> {
  const key = makePrivateKey()
  const keys = await keyPairOf(key)
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${name}`,
    ...lasting(seconds),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { certificate: `${certificate.toString('pem')}\n`, key }
}

/** Signs certificates for TLS in both roles, each with one DNS name. */
export class CertificateAuthority {
  /** PEM. */
  readonly certificate: string
  readonly #issuer: x509.X509Certificate
  readonly #key: webcrypto.CryptoKey

  private constructor(certificate: string, key: webcrypto.CryptoKey) {
    this.certificate = certificate
    this.#issuer = new x509.X509Certificate(certificate)
    this.#key = key
  }

  static async open({ certificate, key }: AuthorityPem): Promise<CertificateAuthority> {
    return new CertificateAuthority(certificate, (await keyPairOf(key)).privateKey)
  }

  /**
   * A certificate for the key of the request, in PEM. Everything else that the request asks for is ignored.
   * @param unit the organizational unit in its subject
   * @throws UnusableRequest
   */
  async sign(request: string, name: string, seconds: number, unit?: string): Promise<string> {
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: `${unit === undefined ? '' : `OU=${unit}, `}CN=${name.slice(0, 64)}`,
      issuer: this.#issuer.subject,
      ...lasting(seconds),
      signingKey: this.#key,
      publicKey: await publicKeyOf(request),
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
        await x509.AuthorityKeyIdentifierExtension.create(this.#issuer),
      ],
    })
    return `${certificate.toString('pem')}\n`
  }
}

/** The SHA-256 of the request's public key (SPKI). @throws UnusableRequest */
export async function keyHashOf(request: string): Promise<Buffer> {
  const { rawData } = await publicKeyOf(request)
  return createHash('sha256').update(new Uint8Array(rawData)).digest()
}

async function publicKeyOf(text: string): Promise<x509.PublicKey> {
  try {
    if (text.length > MAX_REQUEST_CHARS) throw new Error('the request is too long')
    const request = new x509.Pkcs10CertificateRequest(text)
    if (!(await request.verify())) throw new Error('the signature is wrong')
    const { name, namedCurve } = request.publicKey.algorithm as { name: string; namedCurve?: string }
    if (name !== ALGORITHM.name || namedCurve !== ALGORITHM.namedCurve) throw new Error('the key is not of P-256')
    return request.publicKey
  } catch (error) {
    throw new UnusableRequest(`unusable certificate request: ${(error as Error).message}`, { cause: error })
  }
}

function lasting(seconds: number): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return { notBefore: new Date(now - BACKDATED_MS), notAfter: new Date(now + seconds * 1000) }
}

/** Positive, 127 bits (RFC 5280, 4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString('hex')
}

import { randomBytes, webcrypto } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
// The x509 library below needs this import first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 24 * 60 * 60_000
const AUTHORITY_DAYS = 3650
/** The longest lifetime that browsers accept. */
const CERTIFICATE_DAYS = 397
/** Tolerance for clients whose clock is slightly behind. */
const BACKDATED_MS = 60 * 60_000

/** A certificate chain and its key. */
export interface Pem {
  readonly cert: string
  readonly key: string
}

/**
 * The edge's own certificate authority, created at its first start, for names that no public authority certifies, such
 * as `localhost`. A client that trusts `authority.pem` trusts every preview.
 */
export class LocalAuthority {
  readonly #certificate: x509.X509Certificate
  readonly #key: webcrypto.CryptoKey

  private constructor(certificate: x509.X509Certificate, key: webcrypto.CryptoKey) {
    this.#certificate = certificate
    this.#key = key
  }

  /** @param folder of `authority.pem` and `authority.key`, created if missing */
  static async open(folder: string): Promise<LocalAuthority> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const paths = { cert: join(folder, 'authority.pem'), key: join(folder, 'authority.key') }
    const pem = (await readPem(paths)) ?? (await make(paths))
    const key = x509.PemConverter.decodeFirst(pem.key)
    return new LocalAuthority(
      new x509.X509Certificate(pem.cert),
      await webcrypto.subtle.importKey('pkcs8', key, ALGORITHM, false, ['sign']),
    )
  }

  /**
   * Issues a certificate with a new key for DNS names or addresses. The first one is the common name, if it is short
   * enough.
   */
  async issue(names: readonly string[]): Promise<Pem> {
    const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
    return { cert: await this.sign(names, keys.publicKey), key: await privatePem(keys.privateKey) }
  }

  /** Signs a certificate for a given public key, and appends the authority's own. */
  async sign(names: readonly string[], publicKey: x509.PublicKeyType): Promise<string> {
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: 'CN=Offshoot preview',
      issuer: this.#certificate.subject,
      ...lasting(CERTIFICATE_DAYS),
      signingKey: this.#key,
      publicKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => ({ type: isIP(value) > 0 ? 'ip' : 'dns', value })),
        ),
        await x509.AuthorityKeyIdentifierExtension.create(this.#certificate),
      ],
    })
    return `${certificate.toString('pem')}\n${this.#certificate.toString('pem')}\n`
  }
}

/** `null` if there is none, or if it expires before a certificate issued today would. */
async function readPem(paths: Pem): Promise<Pem | null> {
  try {
    const [cert, key] = await Promise.all([readFile(paths.cert, 'utf8'), readFile(paths.key, 'utf8')])
    const { notAfter } = new x509.X509Certificate(cert)
    return notAfter.getTime() > Date.now() + CERTIFICATE_DAYS * DAY_MS ? { cert, key } : null
  } catch {
    return null
  }
}

async function make(paths: Pem): Promise<Pem> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    // Browsers reject two different authorities of the same name.
    name: `CN=Offshoot local authority ${randomBytes(4).toString('hex')}`,
    ...lasting(AUTHORITY_DAYS),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  const pem = { cert: `${certificate.toString('pem')}\n`, key: await privatePem(keys.privateKey) }
  // The key first: after a crash in between, a certificate without its key would be taken as valid.
  await writeFileDurably(paths.key, pem.key)
  await writeFileDurably(paths.cert, pem.cert)
  return pem
}

function lasting(days: number): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return { notBefore: new Date(now - BACKDATED_MS), notAfter: new Date(now + days * DAY_MS - BACKDATED_MS) }
}

/** Positive, 127 bits (RFC 5280, 4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString('hex')
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`
}

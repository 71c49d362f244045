import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { ApiError } from '@offshoot/contract/errors'

/** Certificates in one chain. */
const MAX_CERTIFICATES = 8
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

export interface GivenCertificate {
  /** PEM, without any text that stood between the certificates. */
  readonly chain: string
  /** PEM, PKCS #8. */
  readonly key: string
  readonly fingerprint: string
  readonly endsAt: Date
}

/**
 * Validates an uploaded certificate: it names the domain, is valid now, matches its key, and each certificate in the
 * chain is signed by the next. Visitors' browsers judge whether they trust the last signer.
 * @throws ApiError 400 with the reason
 */
export function givenCertificate(domain: string, pem: string, keyPem: string): GivenCertificate {
  const chain = parseChain(pem)
  const [leaf] = chain
  if (leaf === undefined) throw refused('certificate must be PEM')
  if (leaf.checkHost(domain, { subject: 'never' }) === undefined) throw refused(`certificate is not for ${domain}`)
  const endsAt = new Date(leaf.validTo)
  if (endsAt.getTime() <= Date.now()) throw refused('certificate has expired')
  if (Date.parse(leaf.validFrom) > Date.now()) throw refused('certificate is not valid yet')
  const key = parseKey(keyPem)
  if (!leaf.checkPrivateKey(key)) throw refused('private_key is not that of certificate')
  if (!chain.every((each, at) => isSignedBy(each, chain[at + 1])))
    throw refused('certificate must be followed by those that vouch for it, each for the one before')
  const given = {
    chain: chain.map((each) => each.toString()).join(''),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
  mustServe(given)
  return { ...given, fingerprint: leaf.fingerprint256, endsAt }
}

function parseChain(pem: string): X509Certificate[] {
  const found = pem.match(CERTIFICATE) ?? []
  if (found.length > MAX_CERTIFICATES) throw refused(`certificate must have at most ${MAX_CERTIFICATES} certificates`)
  try {
    return found.map((each) => new X509Certificate(each))
  } catch (error) {
    throw refused('certificate must be PEM', error)
  }
}

function parseKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch (error) {
    throw refused('private_key must be PEM, without a passphrase', error)
  }
}

/** The signer of the last certificate need not be in the chain. */
function isSignedBy(certificate: X509Certificate, signer: X509Certificate | undefined): boolean {
  return signer === undefined || (certificate.checkIssued(signer) && certificate.verify(signer.publicKey))
}

/** Refuses keys that are too short, and key types that TLS does not support. */
function mustServe({ chain, key }: Pick<GivenCertificate, 'chain' | 'key'>): void {
  try {
    createSecureContext({ cert: chain, key })
  } catch (error) {
    throw refused('certificate cannot be served by TLS', error)
  }
}

function refused(error: string, cause?: unknown): ApiError {
  return new ApiError('invalidField', { error }, { cause })
}

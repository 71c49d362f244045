import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import { isCertificateType, readCertificate, type SshCertificate } from '@offshoot/kit/ssh/ssh-certificate'
import { isSignedBy, parsePublicKey, type SshPublicKey } from '@offshoot/kit/ssh/ssh-public-key'
import { SshFormatError, SshReader } from '@offshoot/kit/ssh/ssh-wire'

/** SSH_MSG_USERAUTH_REQUEST (RFC 4252, 5). */
const USERAUTH_REQUEST = 50
/** Of a session: the hash of its key exchange. */
const MIN_SESSION_BYTES = 20
const CERTIFICATE_OF = /^(.+)-cert-v01@openssh\.com$/
/** A user of Linux; the sandbox's id follows. */
const USER_NAME = /^(?:([a-z_][a-z0-9_-]{0,31})\.)?([^.]+)$/

/** A client's request for a sandbox, signed by the client's key. */
export interface SshProof {
  readonly sandboxId: SandboxId
  /** Inside of the sandbox; `null`: the user of its template. */
  readonly user: string | null
  readonly key: SshPublicKey
  /** `null`: the client presented the bare key. */
  readonly certificate: SshCertificate | null
}

/**
 * Verifies the signature of a client's request (RFC 4252, 7), and that of its certificate.
 * @returns `null` for everything that is malformed, not signed, or signed by another authority
 */
export function readProof(signed: Buffer, signature: Buffer, authority: SshPublicKey): SshProof | null {
  try {
    const reader = new SshReader(signed)
    const session = reader.string()
    const type = reader.byte()
    const name = reader.text()
    const service = reader.text()
    const method = reader.text()
    const hasSignature = reader.byte()
    const algorithm = reader.text()
    const blob = reader.string()
    reader.end()
    if (session.length < MIN_SESSION_BYTES || type !== USERAUTH_REQUEST || hasSignature !== 1) return null
    if (service !== 'ssh-connection' || method !== 'publickey') return null
    const certificate = isCertificateType(new SshReader(blob).text()) ? readCertificate(blob, authority) : null
    const key = certificate?.key ?? parsePublicKey(blob)
    if (isCertificateType(algorithm) !== (certificate !== null)) return null
    if (!isSignedBy(key, signatureAlgorithm(algorithm), signed, signature)) return null
    const [, user = null, id = ''] = USER_NAME.exec(name) ?? []
    const sandboxId = parseSandboxId(id)
    return sandboxId === null ? null : { sandboxId, user, key, certificate }
  } catch (error) {
    if (error instanceof SshFormatError) return null
    throw error
  }
}

/** The algorithm of a certificate names the signature's algorithm (OpenSSH's PROTOCOL.certkeys). */
function signatureAlgorithm(algorithm: string): string {
  const inner = CERTIFICATE_OF.exec(algorithm)?.[1]
  if (inner === undefined) return algorithm
  return inner.startsWith('sk-') ? `${inner}@openssh.com` : inner
}

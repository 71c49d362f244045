import { randomBytes, X509Certificate } from 'node:crypto'
import { ApiError } from '@offshoot/contract/errors'
import type { SignedCertificate } from '@offshoot/contract/edge-host'
import { hostIdOf, hostName } from '@offshoot/contract/fleet-identity'
import { RENEWAL_AUDIENCE, RENEWAL_SECONDS } from '@offshoot/contract/host-enrolment'
import { validNameIn } from '@offshoot/kit/issued-certificates'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { z } from 'zod'
import type { FleetAuthority } from './fleet-authority.ts'

const SECRET_BYTES = 32
/** Milliseconds after its end for which a certificate still proves who asks for the next one. */
const RENEWABLE_MS = 30 * 24 * 60 * 60_000
/** Seconds by which the clocks of two hosts may differ. */
const CLOCK_TOLERANCE_SECONDS = 5

const NOT_TRUSTED = 'the authority of its certificate is not trusted (any more): the host must join again'

const renewal = z.object({ request: z.string() })

/** A host that has proved with its present key that it asks, and what it asks for. */
export interface RenewalRequest {
  readonly hostId: string
  /** PKCS #10 in PEM. */
  readonly request: string
}

/** A certificate for the key of the request. @throws ApiError 400 if the request is unusable */
export async function certify(authority: FleetAuthority, request: string, name: string): Promise<SignedCertificate> {
  const signer = await authority.get()
  const certificate = await signer.sign(request, name).catch(refuseUnusable)
  return { certificate, authority: signer.bundle }
}

function refuseUnusable(error: Error): never {
  if (error.name !== 'UnusableRequest') throw error
  throw new ApiError('invalidField', { error: error.message }, { cause: error })
}

export function certifyHost(authority: FleetAuthority, request: string, hostId: string): Promise<SignedCertificate> {
  return certify(authority, request, hostName(hostId))
}

/** The SHA-256 of the public key in a request. @throws ApiError 400 if the request is unusable */
export async function keyHashIn(request: string): Promise<Buffer> {
  const { keyHashOf } = await import('@offshoot/kit/x509/certificate-authority')
  return keyHashOf(request).catch(refuseUnusable)
}

/** A new secret that a host shares with others, in base64. */
export function makeSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64')
}

/**
 * Verifies the token of a renewal: signed with the key of a certificate that a trusted authority issued to a host, and
 * that has not been expired for long. The row decides whether control trusts the host. @throws ApiError 401
 */
export async function verifyRenewal(authority: FleetAuthority, token: string): Promise<RenewalRequest> {
  try {
    const [der = '', ...others] = decodeProtectedHeader(token).x5c ?? []
    if (others.length > 0) throw new Error('more than one certificate')
    const certificate = new X509Certificate(Buffer.from(der, 'base64'))
    if (!(await authority.get()).hasIssued(certificate)) throw new ApiError('invalidApiToken', { detail: NOT_TRUSTED })
    const hostId = hostIdOf(validNameIn(certificate, RENEWABLE_MS) ?? '')
    if (hostId === null) throw new Error('not the certificate of a host')
    const { payload } = await jwtVerify(token, certificate.publicKey, {
      algorithms: ['ES256'],
      audience: RENEWAL_AUDIENCE,
      requiredClaims: ['exp', 'iat'],
      maxTokenAge: RENEWAL_SECONDS,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
    })
    return { hostId, ...renewal.parse(payload) }
  } catch (error) {
    throw error instanceof ApiError ? error : new ApiError('invalidApiToken', {}, { cause: error })
  }
}

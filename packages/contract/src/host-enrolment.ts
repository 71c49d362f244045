import { z } from 'zod'
import { optional } from './fields.ts'
import { hostLabels, hostZone } from './host-label.ts'
import { certificateBody, signedCertificate } from './edge-host.ts'

/**
 * `POST` of {@link joinBody} with `Authorization: Bearer <token>` of `POST /v1/admin/hosts/tokens` returns
 * {@link joinedHost}. A token is for one key: the host that used it may ask again, in case the answer was lost.
 */
export const HOST_JOIN_PATH = '/internal/hosts/join'

/**
 * `POST` returns a {@link signedCertificate} for another key of the same host. `Authorization: Bearer <JWT>`: ES256,
 * signed with the present key, whose certificate is the only one in `x5c`. The claim `request` is the certificate
 * request; `aud` is {@link RENEWAL_AUDIENCE}.
 */
export const HOST_CERTIFICATE_PATH = '/internal/hosts/certificate'

/** `GET`, without a credential, returns the `trustVersion` that a host's certificate should have. */
export const HOST_VERSION_PATH = '/internal/hosts/version'

export const RENEWAL_AUDIENCE = 'offshoot-control'

/** Seconds for which a token of a renewal is valid. */
export const RENEWAL_SECONDS = 60

/** Where control and edges reach the host's agent. */
const hostUrl = z.url({ protocol: /^https$/ }).refine((text) => {
  const { pathname, search, hash, username, password } = new URL(text)
  return pathname === '/' && `${search}${hash}${username}${password}` === ''
}, 'must be https://HOST:PORT')

export const joinBody = z.strictObject({
  request: certificateBody.shape.request,
  url: hostUrl,
  /** As an operator could set them later. */
  labels: optional(hostLabels('labels')),
  zone: optional(hostZone('zone')),
  /** Of a host that joins again. The token must be for it. */
  host_id: optional(z.uuid()),
})

export const joinedHost = z.object({
  /** Chosen by control: the id of the host and of its agent. */
  host_id: z.uuid(),
  ...signedCertificate.shape,
  /** base64: shared with control. */
  secret: z.string(),
  /** base64: shared with the edges. */
  edge_secret: z.string(),
})
export type JoinedHost = z.infer<typeof joinedHost>

import { z } from 'zod'

/**
 * The hosts that have joined, from control to an edge: `GET`, server-sent events, authorized by the edge's own
 * credential. Each `event: hosts` contains all of them ({@link edgeHosts}). The first comes at once, the others when a
 * host has come, changed, gone, or is lost or heard again.
 */
export const EDGE_HOSTS_PATH = '/internal/hosts'

/**
 * `POST` of {@link certificateBody} returns an edge's {@link signedCertificate}. Authorized by the edge's credential. An
 * edge that reports its version gives its id as `?edge=`.
 */
export const EDGE_CERTIFICATE_PATH = '/internal/edge-certificate'

/**
 * `POST` of {@link edgeVersionBody}, in which an edge says every few seconds which version it uses, returns the
 * {@link trustVersion} that it should use. Authorized by the edge's credential.
 */
export const EDGE_VERSION_PATH = '/internal/edge-version'

export const edgeVersionBody = z.strictObject({
  /** Chosen by the edge when it starts. */
  id: z.uuid(),
  /** Of its certificate (fleet-identity.ts). */
  version: z.int().min(0).max(2_147_483_647),
})

/** Counts the changes of what the fleet trusts. Whoever has a certificate of another version renews it at once. */
export const trustVersion = z.object({ version: z.int() })
export type TrustVersion = z.infer<typeof trustVersion>

export const edgeHost = z.object({
  /** The host, whose certificate its agent presents. */
  id: z.string(),
  /** Where its agent listens. */
  url: z.string(),
  /** base64: shared by this host's agent and the edges. */
  secret: z.string(),
  /** Set if no control process hears it, so that an edge does not wait for it. */
  is_lost: z.boolean().optional(),
})
export type EdgeHost = z.infer<typeof edgeHost>

export const edgeHosts = z.array(edgeHost)

export const certificateBody = z.strictObject({
  /** PKCS #10 in PEM, for a key of P-256. */
  request: z.string().max(16_384),
})

export const signedCertificate = z.object({
  /** PEM. */
  certificate: z.string(),
  /** PEM: the authorities that the fleet trusts. There are two while one is replaced. */
  authority: z.string(),
})
export type SignedCertificate = z.infer<typeof signedCertificate>

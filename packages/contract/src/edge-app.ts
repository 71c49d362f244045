import { z } from 'zod'
import { visibility } from './sandbox.ts'

/**
 * The stream of apps from control to an edge: `GET /internal/apps`, server-sent events, authorized by the edge's own
 * credential. It begins with `event: all`. Each change follows as `event: app` with the app, or `event: gone` with its
 * id. `GET` with an id appended returns the current {@link edgeApp}; 404 if the app does not exist.
 */
export const EDGE_APPS_PATH = '/internal/apps'

/** An edge reports its load to control: `POST /internal/apps/load` with {@link edgeLoad} → 204. */
export const EDGE_LOAD_PATH = '/internal/apps/load'

/** Concurrent requests per instance of an app. Control adds an instance above this. */
export const REQUESTS_PER_INSTANCE = 10

/** `GET` with a domain appended returns {@link edgeCertificate}; 404 if there is none. */
export const EDGE_CERTIFICATES_PATH = '/internal/certificates'

/**
 * `GET` with domain and token appended returns {@link edgeAcmeAnswer}: the response to an ACME HTTP challenge (RFC
 * 8555, 8.3).
 */
export const EDGE_ACME_PATH = '/internal/acme-answers'
/** Path of an ACME HTTP challenge, with its token: base64url of at least 128 bits (RFC 8555, 8.3). */
export const ACME_CHALLENGE = /^\/\.well-known\/acme-challenge\/([A-Za-z0-9_-]{16,200})$/

/** A certificate of an app domain, with its private key. */
export const edgeCertificate = z.object({
  /** The fingerprint in {@link edgeApp}. */
  fingerprint: z.string(),
  /** PEM, with its chain. */
  cert: z.string(),
  /** PEM. */
  key: z.string(),
})
export type EdgeCertificate = z.infer<typeof edgeCertificate>

/** `answer`: the key authorization of the challenge (RFC 8555, 8.1). */
export const edgeAcmeAnswer = z.object({ answer: z.string() })

/** An app as the edge needs it to route requests. */
export const edgeApp = z.object({
  /** Host label of the app's address. */
  id: z.string(),
  /** Host label of the app's address by name. */
  host: z.string().nullable(),
  /** Verified domains: full names in lower case. */
  domains: z.array(z.string()),
  /** Fingerprint of each domain's certificate. A domain without a certificate is absent. */
  certificates: z.record(z.string(), z.string()),
  /** `none`: no version serves. `building`: no version serves yet, and the first is being built. */
  state: z.enum(['none', 'building', 'live']),
  /** Another version is starting and may replace this one at any moment. */
  is_changing: z.boolean(),
  /**
   * Version of the snapshot that this state was read in: the database's count of ended transactions. A later read never
   * has a lower one, so that an edge can discard stale states.
   */
  as_of: z.number(),
  /** Port that the serving version listens on. */
  port: z.int(),
  /** The serving sandboxes, the one that was built first in front. Empty unless `live`. */
  sandbox_ids: z.array(z.string()),
  /** Maximum length of `sandbox_ids`. */
  max_instances: z.int().min(1),
  /** Whether later requests of a visitor go to the instance that answered the first one. */
  is_sticky: z.boolean(),
  visibility,
})
export type EdgeApp = z.infer<typeof edgeApp>

/** Data of `event: gone`. */
export const edgeAppGone = z.object({ id: z.string() })

/** Data of `event: all`. */
export const edgeApps = z.array(edgeApp)

/** Only apps that may have several instances and that have requests now. */
export const edgeLoad = z.object({
  apps: z
    .array(
      z.object({
        id: z.uuid(),
        /** Instances needed for the requests in flight. */
        needed: z.int().min(1).max(1_000),
      }),
    )
    .max(10_000),
})
export type EdgeLoad = z.infer<typeof edgeLoad>

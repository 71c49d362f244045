import { z } from 'zod'

/**
 * What control tells an edge of apps: `GET /internal/apps`, as server-sent events, with the edge's own credential for control.
 * First `event: all` with every app, then `event: app` with one that is another now, or `event: gone` with its id.
 * `GET` with an id at the end: {@link edgeApp} of this moment; 404 for an app that is not there.
 */
export const EDGE_APPS_PATH = '/internal/apps'

/** What an edge tells control: `POST /internal/apps/load` with {@link edgeLoad}; 204. */
export const EDGE_LOAD_PATH = '/internal/apps/load'

/** Requests at the same time that one instance of an app is to answer: for more than that it gets another. */
export const REQUESTS_PER_INSTANCE = 10

/**
 * What an edge asks control for, one domain and one name at a time; 404 for what is not there. `GET` with the domain at the end:
 * {@link edgeCertificate}.
 */
export const EDGE_CERTIFICATES_PATH = '/internal/certificates'

/** `GET` with domain and token at the end: {@link edgeAcmeAnswer}, what an authority is to be answered that asks for it (RFC 8555, 8.3). */
export const EDGE_ACME_PATH = '/internal/acme-answers'

export const edgeCertificate = z.object({
  /** As {@link edgeApp} names it. */
  fingerprint: z.string(),
  /** PEM, with those that vouch for it. */
  cert: z.string(),
  /** PEM. */
  key: z.string(),
})
export type EdgeCertificate = z.infer<typeof edgeCertificate>

export const edgeAcmeAnswer = z.object({ answer: z.string() })

export const edgeApp = z.object({
  /** The label of its address. */
  id: z.string(),
  /** The label of its address by name. */
  host: z.string().nullable(),
  /** Its verified domains: whole names, in lower case. */
  domains: z.array(z.string()),
  /** By domain, what its certificate is known by; none for a domain without one. */
  certificates: z.record(z.string(), z.string()),
  /** `none`: no version serves. `building`: nor does one, but the first is being made. */
  state: z.enum(['none', 'building', 'live']),
  /** Another version is being started, and takes over any moment. */
  is_changing: z.boolean(),
  /** How many transactions of the database had ended when this was read: what was read later has no less, and more once it is another. */
  as_of: z.number(),
  /** That the version which serves listens on. */
  port: z.int(),
  /** The sandboxes that serve, the one that was built first; none unless `live`. */
  sandbox_ids: z.array(z.string()),
  /** How many that may become. */
  max_instances: z.int().min(1),
  /** Whether a visitor stays with the instance that answered first. */
  is_sticky: z.boolean(),
})
export type EdgeApp = z.infer<typeof edgeApp>

export const edgeAppGone = z.object({ id: z.string() })

/** Data of `event: all`. */
export const edgeApps = z.array(edgeApp)

/** Of apps that may have several instances and are asked for just now. */
export const edgeLoad = z.object({
  apps: z
    .array(
      z.object({
        id: z.uuid(),
        /** Instances that are needed for the requests under way. */
        needed: z.int().min(1).max(1_000),
      }),
    )
    .max(10_000),
})
export type EdgeLoad = z.infer<typeof edgeLoad>

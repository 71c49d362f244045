import { z } from 'zod'
import { optional, requiredText, requiredTogether, text } from './fields.ts'
import { createdQuery, once } from './page.ts'
import { queryOneOf } from './query-fields.ts'

/** Maximum domains of one app. */
export const MAX_APP_DOMAINS = 16

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
/** At least two labels. The last one begins with a letter, which excludes IP addresses. */
const DOMAIN = new RegExp(`^(?:${LABEL}\\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$`)
const RECORD_LABEL = '_offshoot'

/** Normalizes a name for comparison: lower case, no final dot. `null` if it is not a valid internet domain. */
export function parseDomain(name: string): string | null {
  const domain = name.toLowerCase().replace(/\.$/, '')
  return domain.length <= 253 && DOMAIN.test(domain) ? domain : null
}

/** Name of the TXT record that proves ownership of a domain. */
export function recordNameOf(domain: string): string {
  return `${RECORD_LABEL}.${domain}`
}

/** Maximum characters of a PEM certificate chain, and of a PEM key. */
const MAX_PEM_CHARS = 64 * 1024

/** Body of `DELETE /v1/apps/{id}/domains`. */
export const appDomainBody = z.object({
  domain: requiredText('domain', 254)
    .refine((name) => parseDomain(name) !== null, 'domain must be a host name such as www.example.com')
    .transform((name) => parseDomain(name) ?? name),
})

/** Body of `POST /v1/apps/{id}/domains`. `certificate` and `private_key` must both be present, or both absent. */
export const postAppDomainBody = appDomainBody
  .extend({
    /** PEM chain: the domain's certificate first, each following one signs the one before it. */
    certificate: optional(text('certificate', MAX_PEM_CHARS)),
    /** PEM, without a passphrase. Never returned by a read. */
    private_key: optional(text('private_key', MAX_PEM_CHARS)),
  })
  .meta(requiredTogether('certificate', 'private_key'))

export type PostAppDomainBody = z.infer<typeof postAppDomainBody>

/** The certificate that the edge presents for the domain. */
export const domainCertificate = z.object({
  /** `acme`: Offshoot orders and renews it. `given`: the caller uploaded it and must replace it before it expires. */
  source: z.enum(['acme', 'given']),
  /**
   * - `pending`: the first order is in progress.
   * - `failed`: no order has succeeded yet; `error` says why.
   * - `expired`: it was not renewed in time.
   */
  status: z.enum(['pending', 'ready', 'failed', 'expired']),
  /** Why the last order failed; `null` if it succeeded. With status `ready`, it is the renewal that failed. */
  error: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds. `null` before the first certificate. */
  expires_at: z.string().nullable(),
  /** When the next order or renewal is due. `null` for an uploaded certificate, and after the retries have ended. */
  next_order_at: z.string().nullable(),
})
export type DomainCertificate = z.infer<typeof domainCertificate>

/** A domain of an app. */
export const appDomain = z.object({
  /** The domain in lower case. */
  domain: z.string(),
  /**
   * `verified`: the edge serves the app there. `pending`: the record has not been seen yet, or another app has verified
   * the domain since.
   */
  status: z.enum(['pending', 'verified']),
  /** The DNS record that the caller must create. */
  record: z.object({ type: z.literal('TXT'), name: z.string(), value: z.string() }),
  /** Address of the app once the domain is verified. */
  url: z.string(),
  created_at: z.string(),
  /** `null` while pending. */
  verified_at: z.string().nullable(),
  /** `null` if there is none: `https` then uses a certificate of the edge's local authority. */
  certificate: domainCertificate.nullable(),
})
export type AppDomain = z.infer<typeof appDomain>

/** Query of `GET /v1/apps/{id}/domains`. */
export const appDomainListQuery = createdQuery.extend({
  domain: once('domain').optional(),
  status: queryOneOf('status', appDomain.shape.status.options),
})

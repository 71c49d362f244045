import { z } from 'zod'
import { optional, requiredText, text } from './fields.ts'

/** Most domains of one app. */
export const MAX_APP_DOMAINS = 16

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
/** Two labels at least, the last with a letter first: no address of a machine is one. */
const DOMAIN = new RegExp(`^(?:${LABEL}\\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$`)
const RECORD_LABEL = '_offshoot'

/** As names are compared: lower case, without the dot of the root. `null` for what is no domain of the internet. */
export function parseDomain(name: string): string | null {
  const domain = name.toLowerCase().replace(/\.$/, '')
  return domain.length <= 253 && DOMAIN.test(domain) ? domain : null
}

/** Where the record stands that proves a domain. */
export function recordNameOf(domain: string): string {
  return `${RECORD_LABEL}.${domain}`
}

/** Characters of a certificate with those behind it, and of a key. */
const MAX_PEM_CHARS = 64 * 1024

/** Body of `DELETE /v1/apps/{id}/domains`. */
export const appDomainBody = z.object({
  domain: requiredText('domain', 254)
    .refine((name) => parseDomain(name) !== null, 'domain must be a host name such as www.example.com')
    .transform((name) => parseDomain(name) ?? name),
})

/** Body of `POST /v1/apps/{id}/domains`. The last two come together or not at all. */
export const postAppDomainBody = appDomainBody.extend({
  /** PEM: the domain's, then those that vouch for it, each for the one before. */
  certificate: optional(text('certificate', MAX_PEM_CHARS)),
  /** PEM, without a passphrase. Never returned by a read. */
  private_key: optional(text('private_key', MAX_PEM_CHARS)),
})

export type PostAppDomainBody = z.infer<typeof postAppDomainBody>

/** What visitors by `https` are shown. */
export const domainCertificate = z.object({
  /** `acme`: ordered by us, and renewed. `given`: the caller's own, which nobody renews. */
  source: z.enum(['acme', 'given']),
  /** `pending`: the first is being ordered. `failed`: it was not given so far; `error` says why. `expired`: it was not renewed in time. */
  status: z.enum(['pending', 'ready', 'failed', 'expired']),
  /** Why the last order failed; `null` when it did not. Beside `ready`: it is a renewal that fails. */
  error: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds. `null` before the first. */
  expires_at: z.string().nullable(),
  /** When it is ordered, or renewed; `null` for one that is given, and when it is not tried any more. */
  next_order_at: z.string().nullable(),
})
export type DomainCertificate = z.infer<typeof domainCertificate>

/** A domain of an app. */
export const appDomain = z.object({
  /** In lower case. */
  domain: z.string(),
  /** `verified`: the app is served there. `pending`: the record was not seen yet, or the domain was verified for another app since. */
  status: z.enum(['pending', 'verified']),
  /** What has to stand in the DNS. */
  record: z.object({ type: z.literal('TXT'), name: z.string(), value: z.string() }),
  /** Where the app is served once verified. */
  url: z.string(),
  created_at: z.string(),
  /** `null` while pending. */
  verified_at: z.string().nullable(),
  /** `null` where there is none: `https` is then with one of the edge's own authority. */
  certificate: domainCertificate.nullable(),
})
export type AppDomain = z.infer<typeof appDomain>

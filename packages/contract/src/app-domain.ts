import { z } from 'zod'
import { requiredText } from './fields.ts'

/** Most domains of one app. */
export const MAX_APP_DOMAINS = 16

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
/** Two labels at least, the last with a letter first: no address of a machine is one. */
const DOMAIN = new RegExp(`^(?:${LABEL}\\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$`)
const RECORD_LABEL = '_offshoot'

/** As names are compared: lower case, without the dot of the root. `null` for what is no domain of the internet. */
export function parseDomain(text: string): string | null {
  const domain = text.toLowerCase().replace(/\.$/, '')
  return domain.length <= 253 && DOMAIN.test(domain) ? domain : null
}

/** Where the record stands that proves a domain. */
export function recordNameOf(domain: string): string {
  return `${RECORD_LABEL}.${domain}`
}

/** Body of `POST /v1/apps/{id}/domains`. */
export const appDomainBody = z.object({
  domain: requiredText('domain', 254)
    .refine((text) => parseDomain(text) !== null, 'domain must be a host name such as www.example.com')
    .transform((text) => parseDomain(text) ?? text),
})

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
})
export type AppDomain = z.infer<typeof appDomain>

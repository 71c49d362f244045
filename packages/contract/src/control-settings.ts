import { z } from 'zod'
import { planName } from './plan.ts'

/** `address`, `address:port`, `[address]:port`. */
const DNS_SERVER = /^(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?|[0-9a-f]*:[0-9a-f:]+|\[[0-9a-f:]+\](?::\d{1,5})?)$/i

/** How the mails of a control process travel. */
const mail = z.strictObject({
  /** Sender of every mail, e.g. `Offshoot <noreply@example.com>`. */
  from: z.string().min(3).max(320),
  /** The server that takes them; without it each becomes a file in `DIR/control/mail`. */
  smtp: z
    .strictObject({
      host: z.string().min(1),
      port: z.int().min(1).max(65_535),
      /** TLS from the first byte (port 465); else it is begun with STARTTLS where the server offers it. */
      secure: z.boolean().default(false),
      user: z.string().min(1).optional(),
      password: z.string().min(1).optional(),
    })
    .optional(),
})

/** Whose tokens are taken beside our own: those with this `iss` and `aud`, signed by a key of that JWKS. */
const issuer = z.strictObject({
  issuer: z.string().min(1),
  audience: z.string().min(1),
  /** `https:`; plain `http:` only to this machine itself. */
  jwks_url: z.url().refine(isPrivateOrTls, 'must be https'),
  /**
   * Whether its `email`, when it says `email_verified`, makes its user the same as ours of that address. Only for an issuer that
   * is believed about every address there is; else an address that is taken stays its owner's, and the token is refused.
   */
  is_believed_about_email: z.boolean().default(false),
})
export type IssuerSettings = z.infer<typeof issuer>

/** What a workspace may have that nobody gave anything else. */
const limits = z.strictObject({
  /** Of workspaces made after the first start, which is on `self-hosted`. */
  default_plan: planName.default('free'),
  /** Requests a workspace may send at once after a pause. Default 50. */
  rate_burst: z.int().min(1).max(1_000_000).default(50),
  /** Requests a second a workspace may go on sending. Default 25. */
  rate_per_second: z.int().min(1).max(1_000_000).default(25),
  /** A Redis or Valkey (`redis:` or `rediss:`) in which all control processes count requests together; in PostgreSQL when absent. */
  redis_url: z.url({ protocol: /^rediss?$/ }).optional(),
})

/** The account at Stripe that workspaces pay to. */
const stripe = z.strictObject({
  secret_key: z.string().min(1),
  /** Of the webhook endpoint `/v1/webhooks/stripe`. */
  webhook_secret: z.string().min(1),
  /** Ids of the prices of the plans that can be subscribed to. */
  prices: z.strictObject({ pro: z.string().min(1), team: z.string().min(1) }),
  /** Event name of the meter that volumes beyond the plan are reported to, in MiB-hours; not reported when absent. */
  overage_meter: z.string().min(1).optional(),
  /** Page that payment leads back to; the public address when absent. */
  return_url: z.url().optional(),
  /** Another address of the API, for tests. */
  api_url: z.url().optional(),
})
export type StripeSettings = z.infer<typeof stripe>

/** The app at GitHub, or at a server with its API, by which repositories are read and pushes are heard of. */
const github = z.strictObject({
  /** Its number or client id. */
  app_id: z.coerce.string().min(1),
  /** Its name in addresses. */
  slug: z.string().min(1),
  /** PEM, as the provider gave it. */
  private_key: z.string().min(1),
  /** Of the webhook `/v1/webhooks/github`. */
  webhook_secret: z.string().min(1),
  api_url: z.url().default('https://api.github.com'),
  /** Where people and clones go. */
  web_url: z.url().default('https://github.com'),
})
export type GitProviderSettings = z.infer<typeof github>

/** What a deploy of an app may take. */
const deploys = z.strictObject({
  /** Seconds of installing, and of building. Default 900. */
  step_seconds: z.int().min(1).max(86_400).default(900),
  /** Seconds from the start of an app to its third answer in a row. Default 180. */
  start_seconds: z.int().min(1).max(86_400).default(180),
  /** Seconds from the first step to the last. Default 1200. */
  total_seconds: z.int().min(1).max(86_400).default(1_200),
})

/** The authority that domains of apps have their certificates from. */
const acme = z.strictObject({
  /** Of RFC 8555. Whoever sets this agrees to its terms of service. */
  directory_url: z.url().default('https://acme-v02.api.letsencrypt.org/directory'),
  /** Whom it may write to. */
  email: z.email().optional(),
})
export type AcmeSettings = z.infer<typeof acme>

/** As browsers name where a page is from: scheme, host, port where it is not the scheme's own; nothing behind it. */
const origin = z.string().refine(isOrigin, 'must be an origin')

/**
 * What an operator may choose, each with a default: `DIR/settings.json`. It is part of control's configuration.
 */
export const controlSettings = z.strictObject({
  /** Origins that browsers may call from (exact match, e.g. `https://app.example.com`); none by default. */
  cors_origins: z.array(origin).max(64).default([]),
  /**
   * Base address under which users reach the service, where that is a proxy in front; without a slash at the end. Links, and
   * `iss` of our tokens, have it.
   */
  public_url: z
    .url({ protocol: /^https?$/ })
    .regex(/[^/]$/, 'must not end with a slash')
    .optional(),
  /** Who may make an account: anybody, who has an invitation to a workspace by mail, or nobody. */
  sign_up: z.enum(['open', 'invitation', 'closed']).default('open'),
  /** Whether an account signs in only after its address was confirmed. */
  require_verified_email: z.boolean().default(false),
  /** Milliseconds in which some of a request's body must come, while it is taken; then 408. Default 60 000. */
  body_silence_ms: z.int().min(100).max(3_600_000).default(60_000),
  jwt_issuers: z.array(issuer).max(16).default([]),
  limits: limits.prefault({}),
  /** Without it plans are set by operators. */
  stripe: stripe.optional(),
  /** Without it no repository is connected. */
  github: github.optional(),
  /** Name servers that are asked for the domains of apps, as `192.0.2.1` or `192.0.2.1:5353`; without: the host's own. */
  dns_servers: z.array(z.string().regex(DNS_SERVER, 'must be an address, with or without a port')).max(8).default([]),
  deploys: deploys.prefault({}),
  /** Without it no certificates are ordered for the domains of apps. Their port 80 must lead to the edge. */
  acme: acme.optional(),
  mail: mail.default({ from: 'Offshoot <offshoot@localhost>' }),
  /**
   * Addresses, or networks as `10.0.0.0/8`, of the proxies in front: who they say that a request is from (`X-Forwarded-For`) is
   * believed. None by default: then a request is from whoever opened its connection.
   */
  trusted_proxies: z
    .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))
    .max(64)
    .default([]),
  /** Where a suspended workspace reaches support, e.g. an address. */
  support: z.string().min(1).max(200).optional(),
})

function isPrivateOrTls(text: string): boolean {
  // Called for what is no address too: all checks of a value are made.
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
}

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

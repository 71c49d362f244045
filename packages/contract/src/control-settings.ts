import { z } from 'zod'
import { planName } from './plan.ts'

/** `address`, `address:port`, `[address]:port`. */
const DNS_SERVER = /^(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?|[0-9a-f]*:[0-9a-f:]+|\[[0-9a-f:]+\](?::\d{1,5})?)$/i

/** How control sends mail. */
const mail = z.strictObject({
  /** Sender of every mail, e.g. `Offshoot <noreply@example.com>`. */
  from: z.string().min(3).max(320),
  /** The SMTP server. Without it, control writes each mail to a file in `DIR/control/mail`. */
  smtp: z
    .strictObject({
      host: z.string().min(1),
      port: z.int().min(1).max(65_535),
      /** True: TLS from the first byte (port 465). False: STARTTLS if the server offers it. */
      secure: z.boolean().default(false),
      user: z.string().min(1).optional(),
      password: z.string().min(1).optional(),
    })
    .optional(),
})

/** A foreign token issuer. Control accepts tokens with this `iss` and `aud` that are signed by a key of the JWKS. */
const issuer = z.strictObject({
  issuer: z.string().min(1),
  audience: z.string().min(1),
  /** `https:`, or `http:` to a loopback address. */
  jwks_url: z.url().refine(isPrivateOrTls, 'must be https'),
  /**
   * Whether control trusts this issuer's `email` claim together with `email_verified`, and links the user to the
   * existing account of that address. Set it only for an issuer that is authoritative for all addresses. Otherwise
   * control rejects a token whose address already has an account.
   */
  is_believed_about_email: z.boolean().default(false),
})
export type IssuerSettings = z.infer<typeof issuer>

/** An OpenID Connect provider with which users can sign in. */
const oidcProvider = z.strictObject({
  /** Names the provider in `sign-in/social` and in its redirect address, `PUBLIC_URL/api/auth/callback/ID`. */
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
  /** Shown to users. Default: the id. */
  name: z.string().min(1).max(100).optional(),
  /** The `iss` of its ID tokens; `https:`, or `http:` to a loopback address. Control reads its discovery document. */
  issuer: z.url().refine(isPrivateOrTls, 'must be https'),
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
})
export type OidcSettings = z.infer<typeof oidcProvider>

/** Limits of a workspace for which an operator has set no others. */
const limits = z.strictObject({
  /** Plan of new workspaces. The workspace of the first start is on `self-hosted`. */
  default_plan: planName.default('free'),
  /** Rate limit: requests that a workspace may send in a burst. Default 50. */
  rate_burst: z.int().min(1).max(1_000_000).default(50),
  /** Rate limit: sustained requests per second. Default 25. */
  rate_per_second: z.int().min(1).max(1_000_000).default(25),
  /**
   * A Redis or Valkey (`redis:` or `rediss:`) that holds the rate-limit counters of all control processes. Without it
   * they are in PostgreSQL.
   */
  redis_url: z.url({ protocol: /^rediss?$/ }).optional(),
})

/** The Stripe account that receives payments. */
const stripe = z.strictObject({
  secret_key: z.string().min(1),
  /** Signing secret of the webhook endpoint `/v1/webhooks/stripe`. */
  webhook_secret: z.string().min(1),
  /** Price ids of the plans that a workspace can subscribe to. */
  prices: z.strictObject({ pro: z.string().min(1), team: z.string().min(1) }),
  /** Event name of the meter for volume storage beyond the plan, in MiB-hours. Absent: not reported. */
  overage_meter: z.string().min(1).optional(),
  /** The payment pages return here. Default: the public address. */
  return_url: z.url().optional(),
  /** Another address of the Stripe API, for tests. */
  api_url: z.url().optional(),
})
export type StripeSettings = z.infer<typeof stripe>

/** The GitHub app (or one of a server with GitHub's API) that reads repositories and receives pushes. */
const github = z.strictObject({
  /** The app's number or its client id. */
  app_id: z.coerce.string().min(1),
  /** The app's name in URLs. */
  slug: z.string().min(1),
  /** PEM, as downloaded from the provider. */
  private_key: z.string().min(1),
  /** Signing secret of the webhook `/v1/webhooks/github`. */
  webhook_secret: z.string().min(1),
  api_url: z.url().default('https://api.github.com'),
  /** Base address of web pages and clones. */
  web_url: z.url().default('https://github.com'),
})
export type GitProviderSettings = z.infer<typeof github>

/** Time limits of a deploy, in seconds. */
const deploys = z.strictObject({
  /** Limit of the install step, and of the build step. Default 900. */
  step_seconds: z.int().min(1).max(86_400).default(900),
  /** Limit from the app's start to its third successful health check in a row. Default 180. */
  start_seconds: z.int().min(1).max(86_400).default(180),
  /** Limit of the whole deploy. Default 1200. */
  total_seconds: z.int().min(1).max(86_400).default(1_200),
})

/** Where webhooks may lead. */
const webhooks = z.strictObject({
  /**
   * Addresses or networks (`10.0.0.0/8`) that webhooks may reach although they are not public. Default: none, because
   * every user of the service could make control send requests there.
   */
  allowed_networks: z
    .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))
    .max(64)
    .default([]),
})

/** The ACME authority for certificates of app domains. */
const acme = z.strictObject({
  /** The ACME directory (RFC 8555). Setting it accepts the authority's terms of service. */
  directory_url: z.url().default('https://acme-v02.api.letsencrypt.org/directory'),
  /** Contact address for the authority. */
  email: z.email().optional(),
})
export type AcmeSettings = z.infer<typeof acme>

/**
 * An address at which control serves the API with TLS, beside its plain address on loopback. The certificate is either
 * in files or ordered by ACME.
 */
const tls = z
  .strictObject({
    /** Absolute path of a PEM file: the certificate and those of its authorities up to the root. Control reads it again when it changes. */
    cert: z.string().startsWith('/').optional(),
    /** Absolute path of a PEM file with the private key. */
    key: z.string().startsWith('/').optional(),
    /** Control orders and renews a certificate for the name in `public_url`, which it proves over HTTP. */
    acme: acme
      .extend({
        /**
         * Port at which control answers the authority, and sends browsers to `public_url`. The authority connects to
         * port 80. `null`: port 80 of the name leads to the edge, which answers.
         */
        http_port: z.int().min(1).max(65_535).nullable().default(80),
      })
      .optional(),
    /** Default: all addresses of the machine. */
    host: z.string().min(1).default('::'),
    port: z.int().min(1).max(65_535).default(443),
  })
  .refine(
    ({ cert, key, acme: ordered }) => (cert === undefined) === (key === undefined) && !cert !== !ordered,
    'must have either acme, or cert and key',
  )
export type TlsSettings = z.infer<typeof tls>

/** A web origin: scheme, host, and a port if it is not the scheme's default. No path. */
const origin = z.string().refine(isOrigin, 'must be an origin')

/** The operator's settings in `DIR/settings.json`, each with a default. Control's configuration includes them. */
export const controlSettings = z.strictObject({
  /** Allowed CORS origins (exact match, e.g. `https://app.example.com`). Default: none. */
  cors_origins: z.array(origin).max(64).default([]),
  /**
   * Base address for users, if a reverse proxy or `tls` serves the API; without a final slash. Links and the `iss` of our tokens
   * use it.
   */
  public_url: z
    .url({ protocol: /^https?$/ })
    .regex(/[^/]$/, 'must not end with a slash')
    .optional(),
  /** Without it, a proxy must end TLS. */
  tls: tls.optional(),
  /** Who may create an account: anyone, only people invited to a workspace by mail, or no one. */
  sign_up: z.enum(['open', 'invitation', 'closed']).default('open'),
  /** Whether a user must confirm the e-mail address before signing in. */
  require_verified_email: z.boolean().default(false),
  /** Maximum milliseconds between two pieces of a request body; then control answers 408. Default 60 000. */
  body_silence_ms: z.int().min(100).max(3_600_000).default(60_000),
  jwt_issuers: z.array(issuer).max(16).default([]),
  oidc_providers: z
    .array(oidcProvider)
    .max(16)
    .refine((all) => new Set(all.map(({ id }) => id)).size === all.length, 'must have different ids')
    .default([]),
  limits: limits.prefault({}),
  /** Without it, only operators set plans. */
  stripe: stripe.optional(),
  /** Without it, no repository can be connected. */
  github: github.optional(),
  /** Name servers for the verification of app domains and for webhooks, as `192.0.2.1` or `192.0.2.1:5353`. Default: the host's own. */
  dns_servers: z.array(z.string().regex(DNS_SERVER, 'must be an address, with or without a port')).max(8).default([]),
  /** Days for which entries of the audit log are kept. Default 365. */
  audit_days: z.int().min(1).max(3_650).default(365),
  /** Seconds after which a host that no control process hears is lost, and gets nothing new. Default 60. */
  lost_after_seconds: z.int().min(5).max(86_400).default(60),
  /**
   * Whether databases on joined hosts run only while control renews the lease of their host: three quarters of
   * `lost_after_seconds`. Default `false`.
   */
  database_leases: z.boolean().default(false),
  /** With an object store: seconds of hibernation after which control stores a copy of a sandbox. Default 3600. */
  copy_after_seconds: z.int().min(1).max(2_592_000).default(3_600),
  deploys: deploys.prefault({}),
  /** Without it, control orders no certificates for app domains. Port 80 of those domains must lead to the edge. */
  acme: acme.optional(),
  mail: mail.default({ from: 'Offshoot <offshoot@localhost>' }),
  /**
   * Addresses or networks (`10.0.0.0/8`) of trusted reverse proxies. Control takes the client address from their
   * `X-Forwarded-For`. Default: none, so the client address is the peer of the connection.
   */
  trusted_proxies: z
    .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))
    .max(64)
    .default([]),
  webhooks: webhooks.prefault({}),
  /** How a suspended workspace reaches support, e.g. an e-mail address. */
  support: z.string().min(1).max(200).optional(),
})

/**
 * The name for which control orders a certificate; `null` if it orders none for itself.
 * @throws Error if no authority vouches for the name in `public_url`
 */
export function ownCertificateName({
  tls: settings,
  public_url: url,
}: {
  readonly tls?: TlsSettings | undefined
  readonly public_url?: string | undefined
}): string | null {
  if (settings?.acme === undefined) return null
  const { protocol, hostname } = new URL(url ?? 'http://localhost')
  const isName = /^(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*$/.test(hostname)
  if (protocol === 'https:' && isName) return hostname
  throw new Error('tls.acme needs a public_url with https and a name in the public DNS')
}

function isPrivateOrTls(text: string): boolean {
  // zod runs all checks of a value, so this is also called for text that is no URL.
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
}

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

import type { OidcSettings } from '@offshoot/contract/control-settings'
import type { AuthContext } from 'better-auth'
import { genericOAuth } from 'better-auth/plugins/generic-oauth'
import type { Logger } from 'pino'

/** Milliseconds for a provider's discovery document. */
const DISCOVERY_TIMEOUT_MS = 5_000

/** The part of the library's context that this file changes. */
type Context = Pick<AuthContext, 'socialProviders'>

/**
 * Adds the configured OpenID Connect providers to the accounts library, by their discovery documents. A provider that
 * cannot be reached is left for the next call, so that it cannot stop control or sign-ins with a password. Returns
 * whether all providers have been added.
 *
 * The library's plugin reads the documents when it starts, and fails as a whole. So each provider is started alone, and
 * what the plugin would add to the library's context is added here.
 */
export async function addOidcProviders(
  accounts: { readonly $context: Promise<Context> },
  providers: readonly OidcSettings[],
  log: Logger,
): Promise<boolean> {
  const context = await accounts.$context
  const missing = providers.filter(({ id }) => !context.socialProviders.some((each) => each.id === id))
  const added = await Promise.all(
    missing.map(async (settings) => {
      try {
        await addProvider(context, settings)
        return true
      } catch (error) {
        log.warn({ part: 'accounts', provider: settings.id, err: error }, 'OpenID Connect provider not added yet')
        return false
      }
    }),
  )
  return added.every(Boolean)
}

async function addProvider(context: Context, { id, name, issuer, ...client }: OidcSettings): Promise<void> {
  const discoveryUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  await refuseOtherIssuer(discoveryUrl, issuer)
  const plugin = genericOAuth({
    config: [
      {
        providerId: id,
        name: name ?? id,
        discoveryUrl,
        clientId: client.client_id,
        clientSecret: client.client_secret,
        scopes: ['openid', 'email', 'profile'],
        pkce: true,
        // Without it, the plugin would decode unverified tokens if the document names no keys.
        requireIdTokenVerification: true,
      },
    ],
  })
  const { context: made } = await plugin.init(context as AuthContext)
  context.socialProviders = [...context.socialProviders, ...made.socialProviders.filter((each) => each.id === id)]
}

/** OpenID Connect Discovery 1.0, 4.3: the document must name the issuer that it was asked for. */
async function refuseOtherIssuer(url: string, issuer: string): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(DISCOVERY_TIMEOUT_MS), redirect: 'error' })
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
  const { issuer: named } = (await answer.json()) as { issuer?: unknown }
  if (named !== issuer) throw new Error(`${url} names another issuer`)
}

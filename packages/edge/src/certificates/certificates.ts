import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { EdgeConfig } from '@offshoot/contract/process-config'
import { parsePreviewHost } from '@offshoot/contract/preview-address'
import type { Logger } from 'pino'
import type { DomainCertificates } from './domain-certificates.ts'
import { AcmeCertificate } from './acme-certificate.ts'
import { LocalAuthority, type Pem } from './local-authority.ts'

/** Maximum certificates of single hosts to keep. */
const MAX_KEPT = 1_000
/** Milliseconds between two checks of the operator's certificate files. */
const LOOK_MS = 30_000

export interface Certificates {
  /** For clients without SNI. */
  readonly default: Pem
  /** For a client that sends this name (SNI). */
  readonly forName: (name: string) => Promise<SecureContext>
}

/** The edge's view of app domains. */
export interface AppDomains {
  /** @param name in lower case */
  readonly has: (name: string) => boolean
  /** `null` if no control is configured. */
  readonly certificates: DomainCertificates | null
}

/**
 * Opens the operator's certificate if configured, else an ACME one if configured, else one of the local authority. An
 * app's domain uses its own certificate, or else one of the local authority.
 */
export async function openCertificates(
  config: EdgeConfig,
  domains: AppDomains,
  log: Logger,
  stopped: AbortSignal,
): Promise<Certificates> {
  const local = await localCertificates(await LocalAuthority.open(config.data_dir), config.suffix, domains.has)
  const ours = await ourCertificates(config, local, log, stopped)
  const forName = async (name: string) => {
    const domain = name.toLowerCase()
    if (!domains.has(domain)) return ours.forName(name)
    return (await domains.certificates?.find(domain)) ?? local.forName(name)
  }
  return { default: ours.default, forName }
}

async function ourCertificates(
  config: EdgeConfig,
  local: Certificates,
  log: Logger,
  stopped: AbortSignal,
): Promise<Certificates> {
  if (config.certificate !== undefined) return ownCertificate(config.certificate, log)
  if (config.acme === undefined) return local
  const acme = await AcmeCertificate.open(config.acme, config.suffix, join(config.data_dir, 'acme'), log)
  void acme.keep(stopped)
  // Until the first certificate is issued, visitors get the local authority's.
  return { default: local.default, forName: async (name) => acme.context ?? local.forName(name) }
}

/** Rereads the files when they change. Keeps the old certificate while the new one is unreadable. */
async function ownCertificate(
  paths: { readonly cert: string; readonly key: string },
  log: Logger,
): Promise<Certificates> {
  const read = async () => {
    const [cert, key] = await Promise.all([readFile(paths.cert, 'utf8'), readFile(paths.key, 'utf8')])
    return { cert, key }
  }
  const lastChange = async () =>
    Math.max(...(await Promise.all([stat(paths.cert), stat(paths.key)])).map(({ mtimeMs }) => mtimeMs))
  let changedAt = await lastChange()
  const first = await read()
  let context = createSecureContext(first)
  let lookedAt = performance.now()
  const refresh = async () => {
    lookedAt = performance.now()
    try {
      const now = await lastChange()
      if (now === changedAt) return
      context = createSecureContext(await read())
      changedAt = now
    } catch (error) {
      log.error({ err: error }, 'certificate not read')
    }
  }
  const forName = async () => {
    if (performance.now() - lookedAt > LOOK_MS) await refresh()
    return context
  }
  return { default: first, forName }
}

/**
 * A wildcard certificate where clients accept one: OpenSSL and browsers need two labels after the asterisk. So under
 * `localhost` each preview host gets its own certificate at its first request, as does each app domain.
 */
async function localCertificates(
  authority: LocalAuthority,
  suffix: string,
  isAppDomain: AppDomains['has'],
): Promise<Certificates> {
  const wildcard = await authority.issue([`*.${suffix}`, suffix])
  const ofWildcard = createSecureContext(wildcard)
  const kept = new Map<string, Promise<SecureContext>>()
  const forName = async (name: string) => {
    const key = name.toLowerCase()
    const isWildcards = suffix.includes('.') || parsePreviewHost(name, suffix) === null
    if (isWildcards && !isAppDomain(key)) return ofWildcard
    const context = kept.get(key) ?? authority.issue([key]).then(createSecureContext)
    kept.delete(key)
    kept.set(key, context)
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value as string)
    return context
  }
  return { default: wildcard, forName }
}

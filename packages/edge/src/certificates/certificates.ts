import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { EdgeConfig } from '@offshoot/contract/process-config'
import { parsePreviewHost } from '@offshoot/contract/preview-address'
import type { Logger } from 'pino'
import type { DomainCertificates } from './domain-certificates.ts'
import { AcmeCertificate } from './acme-certificate.ts'
import { LocalAuthority, type Pem } from './local-authority.ts'

/** Certificates of single hosts that are kept. */
const MAX_KEPT = 1_000
/** Milliseconds between two looks at the files of one's own certificate. */
const LOOK_MS = 30_000

export interface Certificates {
  /** Shown to who asks for no name. */
  readonly default: Pem
  /** Shown to who asks for this one (SNI). */
  readonly forName: (name: string) => Promise<SecureContext>
}

/** What an edge knows of the domains of apps. */
export interface AppDomains {
  /** @param name in lower case */
  readonly has: (name: string) => boolean
  /** `null` where no control tells of any. */
  readonly certificates: DomainCertificates | null
}

/**
 * One's own certificate where one is configured, else ACME's where that is, else the local authority's. A domain of an app has
 * its own, else the local authority's.
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
  // Until the first one is there, visitors see that of the local authority.
  return { default: local.default, forName: async (name) => acme.context ?? local.forName(name) }
}

/** Read again when the files have changed; the old one stays while the new one cannot be read. */
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
 * A wildcard, where programs take one: OpenSSL and browsers want two labels behind the asterisk. Under `localhost` each
 * preview host has its own, made when it is first asked for, as has each domain of an app.
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

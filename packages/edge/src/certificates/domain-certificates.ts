import { createSecureContext, type SecureContext } from 'node:tls'
import { EDGE_CERTIFICATES_PATH, edgeCertificate } from '@offshoot/contract/edge-app'
import type { Logger } from 'pino'
import type { AppLocations } from '../apps/app-locations.ts'
import { askControl } from '../apps/ask-control.ts'
import type { EdgeCredential } from '../agents/edge-credential.ts'

/** Maximum certificates to keep in memory. */
const MAX_KEPT = 1_000

interface Kept {
  readonly fingerprint: string
  readonly context: SecureContext
}

export interface DomainCertificatesOptions {
  readonly controlUrl: string
  readonly credential: EdgeCredential
  readonly locations: AppLocations
  readonly log: Logger
}

/**
 * Certificates and keys of app domains, fetched from control: at a visitor's first request for the name, and when
 * control reports a new fingerprint. They are never written to a file.
 */
export class DomainCertificates {
  readonly #options: DomainCertificatesOptions
  readonly #kept = new Map<string, Kept>()
  readonly #asked = new Map<string, Promise<SecureContext | null>>()

  constructor(options: DomainCertificatesOptions) {
    this.#options = options
  }

  /** `null` if there is none. While control is away, the previous certificate. @param domain in lower case */
  async find(domain: string): Promise<SecureContext | null> {
    const wanted = this.#options.locations.certificateOf(domain)
    const kept = this.#kept.get(domain)
    if (wanted === undefined) {
      this.#kept.delete(domain)
      return null
    }
    if (kept?.fingerprint === wanted) return kept.context
    const asked = this.#asked.get(domain) ?? this.#ask(domain)
    this.#asked.set(domain, asked)
    return (await asked) ?? kept?.context ?? null
  }

  /** Concurrent requests share one query. Never rejects. */
  async #ask(domain: string): Promise<SecureContext | null> {
    const { controlUrl, credential, log } = this.#options
    try {
      const body = await askControl(`${controlUrl}${EDGE_CERTIFICATES_PATH}/${domain}`, credential)
      if (body === null) return null
      const { fingerprint, ...pem } = edgeCertificate.parse(body)
      const context = createSecureContext(pem)
      this.#kept.delete(domain)
      this.#kept.set(domain, { fingerprint, context })
      if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value as string)
      return context
    } catch (error) {
      log.warn({ err: error, domain }, 'no certificate from control')
      return null
    } finally {
      this.#asked.delete(domain)
    }
  }
}

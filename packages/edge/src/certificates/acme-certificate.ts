import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createSecureContext, type SecureContext } from 'node:tls'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Logger } from 'pino'
import type { AcmeSettings } from './acme-order.ts'
import type { Pem } from './local-authority.ts'

/** Remaining lifetime at which a certificate is renewed. */
const RENEWED_BEFORE_MS = 30 * 24 * 60 * 60_000
/** Milliseconds between two checks of the remaining lifetime. */
const LOOK_MS = 6 * 60 * 60_000
/** Backoff in milliseconds after a failed order, doubled up to `last`. Authorities limit the rate of failures. */
const RETRY_MS = { first: 60_000, last: 6 * 60 * 60_000 } as const

/** A certificate ordered by ACME, stored in a file and renewed in time. */
export class AcmeCertificate {
  readonly #settings: AcmeSettings
  readonly #suffix: string
  readonly #folder: string
  readonly #log: Logger
  #kept: { readonly context: SecureContext; readonly endsAtMs: number } | null = null

  private constructor(settings: AcmeSettings, suffix: string, folder: string, log: Logger) {
    this.#settings = settings
    this.#suffix = suffix
    this.#folder = folder
    this.#log = log
  }

  /** @param folder holds the account key, and the certificate with its key in one file so that they always match */
  static async open(settings: AcmeSettings, suffix: string, folder: string, log: Logger): Promise<AcmeCertificate> {
    const opened = new AcmeCertificate(settings, suffix, folder, log)
    try {
      opened.#take(JSON.parse(await readFile(opened.#path, 'utf8')) as Pem)
    } catch (error) {
      const isFirst = (error as NodeJS.ErrnoException).code === 'ENOENT'
      if (!isFirst) log.error({ err: error, suffix }, 'kept certificate cannot be read: ordering another one')
    }
    return opened
  }

  /** `null` before the first certificate, and after the last one has expired. */
  get context(): SecureContext | null {
    return this.#kept !== null && this.#kept.endsAtMs > Date.now() ? this.#kept.context : null
  }

  /** Orders and renews until `stopped`. */
  async keep(stopped: AbortSignal): Promise<void> {
    let retryMs: number = RETRY_MS.first
    while (!stopped.aborted) {
      const isDone = await this.#renew()
      const pauseMs = isDone ? LOOK_MS : retryMs
      retryMs = isDone ? RETRY_MS.first : Math.min(2 * retryMs, RETRY_MS.last)
      await wait(pauseMs, undefined, { signal: stopped, ref: false }).catch(() => undefined)
    }
  }

  /** @returns whether there is a certificate that needs no renewal */
  async #renew(): Promise<boolean> {
    if (this.#kept !== null && this.#kept.endsAtMs - Date.now() > RENEWED_BEFORE_MS) return true
    try {
      // The library that it loads takes a sixth of a second of CPU time, and most starts order nothing.
      const { orderCertificate } = await import('./acme-order.ts')
      const pem = await orderCertificate(this.#settings, this.#suffix, this.#folder)
      await writeFileDurably(this.#path, JSON.stringify(pem))
      this.#take(pem)
      this.#log.info({ suffix: this.#suffix }, 'certificate from ACME')
      return true
    } catch (error) {
      this.#log.error({ err: error, suffix: this.#suffix }, 'no certificate from ACME')
      return false
    }
  }

  /** Ignores a certificate for another domain. */
  #take(pem: Pem): void {
    const certificate = new X509Certificate(pem.cert)
    if (certificate.checkHost(`x.${this.#suffix}`) === undefined) return
    this.#kept = { context: createSecureContext(pem), endsAtMs: Date.parse(certificate.validTo) }
  }

  get #path(): string {
    return join(this.#folder, 'certificate.json')
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import { X509Certificate } from 'node:crypto'
import { EDGE_CERTIFICATE_PATH, signedCertificate } from '@offshoot/contract/edge-host'
import { MutualTls } from '@offshoot/kit/mutual-tls'
import type { Logger } from 'pino'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { askControl } from '../apps/ask-control.ts'

/** Milliseconds before another attempt, after control did not answer. */
const RETRY_MS = 1_000

export interface EdgeIdentityOptions {
  readonly controlUrl: string
  readonly credential: EdgeCredential
  readonly log: Logger
}

/** The certificate with which this edge calls the hosts that have joined. No file contains its key. */
export class EdgeIdentity {
  readonly tls = new MutualTls()
  readonly #options: EdgeIdentityOptions
  #keeping: Promise<void> | undefined

  constructor(options: EdgeIdentityOptions) {
    this.#options = options
  }

  /** Gets a certificate, and replaces it whenever half of its time is over, until `stopped` aborts. */
  keep(stopped: AbortSignal): void {
    this.#keeping ??= this.#loop(stopped)
  }

  async finished(): Promise<void> {
    await this.#keeping
  }

  async #loop(stopped: AbortSignal): Promise<void> {
    let isFailing = false
    while (!stopped.aborted) {
      let pauseMs = RETRY_MS
      try {
        pauseMs = await this.#renew()
        isFailing = false
      } catch (error) {
        if (!isFailing) this.#options.log.warn({ err: error }, 'no certificate for calls to other hosts: trying again')
        isFailing = true
      }
      await delay(pauseMs, undefined, { signal: stopped }).catch(() => undefined)
    }
  }

  /** @returns milliseconds until half of the certificate's time is over */
  async #renew(): Promise<number> {
    const { controlUrl, credential } = this.#options
    const { certificateRequest, makePrivateKey } = await import('@offshoot/kit/x509/certificate-request')
    const key = makePrivateKey()
    const body = { request: await certificateRequest(key) }
    const answer = await askControl(`${controlUrl}${EDGE_CERTIFICATE_PATH}`, credential, { body })
    const { certificate, authority } = signedCertificate.parse(answer)
    this.tls.set({ cert: certificate, key, ca: authority })
    return (new X509Certificate(certificate).validToDate.getTime() - Date.now()) / 2
  }
}

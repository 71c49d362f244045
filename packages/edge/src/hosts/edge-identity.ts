import { setTimeout as delay } from 'node:timers/promises'
import { randomUUID, X509Certificate } from 'node:crypto'
import { EDGE_CERTIFICATE_PATH, EDGE_VERSION_PATH, signedCertificate, trustVersion } from '@offshoot/contract/edge-host'
import { trustVersionOf } from '@offshoot/contract/fleet-identity'
import { MutualTls } from '@offshoot/kit/mutual-tls'
import type { Logger } from 'pino'
import type { EdgeCredential } from '../agents/edge-credential.ts'
import { askControl } from '../apps/ask-control.ts'

/** Milliseconds before another attempt, after control did not answer, and after a renewal. */
const RETRY_MS = 1_000
/** Milliseconds between two questions whether the certificate is due. */
const LOOK_MS = 5_000

export interface EdgeIdentityOptions {
  readonly controlUrl: string
  readonly credential: EdgeCredential
  readonly log: Logger
}

/** The certificate with which this edge calls the hosts that have joined. No file contains its key. */
export class EdgeIdentity {
  readonly tls = new MutualTls()
  readonly #options: EdgeIdentityOptions
  readonly #id = randomUUID()
  #current: X509Certificate | null = null
  #keeping: Promise<void> | undefined

  constructor(options: EdgeIdentityOptions) {
    this.#options = options
  }

  /** Gets a certificate, and replaces it whenever it is due, until `stopped` aborts. */
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
        if (await this.#isDue()) this.#current = await this.#renew()
        else pauseMs = LOOK_MS
        isFailing = false
      } catch (error) {
        if (!isFailing)
          this.#options.log.warn({ err: error }, 'certificate for calls to other hosts not kept: trying again')
        isFailing = true
      }
      await delay(pauseMs, undefined, { signal: stopped }).catch(() => undefined)
    }
  }

  /** Half of the certificate's time is over, or the fleet trusts others than when it was issued. Tells control its version. */
  async #isDue(): Promise<boolean> {
    const current = this.#current
    if (current === null) return true
    const version = trustVersionOf(current)
    const wanted = await this.#ask(EDGE_VERSION_PATH, { id: this.#id, version })
    const isOld = Date.now() > (current.validFromDate.getTime() + current.validToDate.getTime()) / 2
    // An earlier version of control knows no versions.
    return isOld || (wanted !== null && trustVersion.parse(wanted).version !== version)
  }

  async #renew(): Promise<X509Certificate> {
    const { certificateRequest, makePrivateKey } = await import('@offshoot/kit/x509/certificate-request')
    const key = makePrivateKey()
    const body = { request: await certificateRequest(key) }
    const answer = await this.#ask(`${EDGE_CERTIFICATE_PATH}?edge=${this.#id}`, body)
    const { certificate, authority } = signedCertificate.parse(answer)
    this.tls.set({ cert: certificate, key, ca: authority })
    return new X509Certificate(certificate)
  }

  #ask(path: string, body: object): Promise<unknown> {
    const { controlUrl, credential } = this.#options
    return askControl(`${controlUrl}${path}`, credential, { body })
  }
}

import { CONTROL_NAME } from '@offshoot/contract/fleet-identity'
import { MutualTls } from '@offshoot/kit/mutual-tls'
import { CERTIFICATE_SECONDS, type FleetAuthority } from './fleet-authority.ts'

/** Milliseconds after which the certificate is replaced. */
const RENEW_MS = (CERTIFICATE_SECONDS * 1000) / 2

/** The certificate with which this control process calls the hosts that have joined. No file contains its key. */
export class OwnIdentity {
  readonly tls = new MutualTls()
  readonly #authority: FleetAuthority
  #renewAtMs = Number.NEGATIVE_INFINITY

  constructor(authority: FleetAuthority) {
    this.#authority = authority
  }

  /** Makes the certificate, or replaces it when half of its time is over. */
  async keep(): Promise<void> {
    if (performance.now() < this.#renewAtMs) return
    const authority = await this.#authority.get()
    const { certificateRequest, makePrivateKey } = await import('@offshoot/kit/x509/certificate-request')
    const key = makePrivateKey()
    const cert = await authority.sign(await certificateRequest(key), CONTROL_NAME, CERTIFICATE_SECONDS)
    this.tls.set({ cert, key, ca: authority.certificate })
    this.#renewAtMs = performance.now() + RENEW_MS
  }
}

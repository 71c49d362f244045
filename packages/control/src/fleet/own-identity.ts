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
  #bundle = ''
  #version = -1

  constructor(authority: FleetAuthority) {
    this.#authority = authority
  }

  /** Makes the certificate, or replaces it when half of its time is over or the fleet trusts others. */
  async keep(): Promise<void> {
    const authority = await this.#authority.get()
    const isCurrent = authority.version === this.#version && authority.bundle === this.#bundle
    if (isCurrent && performance.now() < this.#renewAtMs) return
    const { certificateRequest, makePrivateKey } = await import('@offshoot/kit/x509/certificate-request')
    const key = makePrivateKey()
    const cert = await authority.sign(await certificateRequest(key), CONTROL_NAME)
    this.tls.set({ cert, key, ca: authority.bundle })
    this.#renewAtMs = performance.now() + RENEW_MS
    this.#bundle = authority.bundle
    this.#version = authority.version
  }

  /** The version that this process uses; `null`: it has no certificate. */
  get version(): number | null {
    return this.#version === -1 ? null : this.#version
  }
}

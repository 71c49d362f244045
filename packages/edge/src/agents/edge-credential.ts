import { AGENT_CREDENTIAL_SECONDS, EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { SignJWT } from 'jose'

/**
 * Half of a credential's lifetime. A reused credential is thus valid for at least the other half, despite clock skew.
 */
const REUSE_MS = (AGENT_CREDENTIAL_SECONDS * 1000) / 2

/** Signs the edge's credentials for one agent. Reuses each for half of its lifetime. */
export class EdgeCredential {
  readonly #secret: Uint8Array
  readonly #hostId: string | undefined
  #token: Promise<string> | undefined
  #untilMs = 0

  /**
   * @param secret base64, as in the configuration
   * @param hostId the audience. Absent: the credential is for control, or for an agent on this host
   */
  constructor(secret: string, hostId?: string) {
    this.#hostId = hostId
    this.#secret = Buffer.from(secret, 'base64')
  }

  get(): Promise<string> {
    if (this.#token === undefined || this.#untilMs <= performance.now()) {
      this.#untilMs = performance.now() + REUSE_MS
      this.#token = new SignJWT(this.#hostId === undefined ? {} : { aud: this.#hostId })
        .setProtectedHeader({ alg: 'HS256', kid: EDGE_KEY_ID })
        .setIssuedAt()
        .setExpirationTime(`${AGENT_CREDENTIAL_SECONDS}s`)
        .sign(this.#secret)
    }
    return this.#token
  }
}

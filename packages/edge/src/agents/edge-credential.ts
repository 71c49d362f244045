import { AGENT_CREDENTIAL_SECONDS, EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { SignJWT } from 'jose'

/** Half of a credential's life: what is handed out always has as much left, whatever the clocks differ by. */
const REUSE_MS = (AGENT_CREDENTIAL_SECONDS * 1000) / 2

/** Signs the edge's credentials for one agent, and hands each out for half its life. */
export class EdgeCredential {
  readonly #secret: Uint8Array
  #token: Promise<string> | undefined
  #untilMs = 0

  /** @param secret base64, as in the configuration */
  constructor(secret: string) {
    this.#secret = Buffer.from(secret, 'base64')
  }

  get(): Promise<string> {
    if (this.#token === undefined || this.#untilMs <= performance.now()) {
      this.#untilMs = performance.now() + REUSE_MS
      this.#token = new SignJWT({})
        .setProtectedHeader({ alg: 'HS256', kid: EDGE_KEY_ID })
        .setIssuedAt()
        .setExpirationTime(`${AGENT_CREDENTIAL_SECONDS}s`)
        .sign(this.#secret)
    }
    return this.#token
  }
}

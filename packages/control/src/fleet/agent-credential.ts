import { AGENT_CREDENTIAL_SECONDS } from '@offshoot/contract/agent-credential'
import { SignJWT } from 'jose'

/** Half of a credential's life: what is handed out always has as much left, whatever the clocks differ by. */
const REUSE_MS = (AGENT_CREDENTIAL_SECONDS * 1000) / 2
/** Workspaces whose credentials are kept at once; the oldest goes first. */
const MAX_KEPT = 10_000

/** Signs the credentials for one agent, and keeps each for half its life: signing is most of what a small request costs. */
export class AgentCredential {
  readonly #secret: Uint8Array
  readonly #clusterId: string
  readonly #kept = new Map<string | undefined, { readonly token: Promise<string>; readonly untilMs: number }>()

  /**
   * @param secret base64, as in the configuration
   * @param clusterId an agent that obeys another cluster deletes nothing for it
   */
  constructor(secret: string, clusterId: string) {
    this.#clusterId = clusterId
    this.#secret = Buffer.from(secret, 'base64')
  }

  /** @param workspaceId whose sandboxes it opens; `undefined` is control speaking for itself */
  for(workspaceId: string | undefined): Promise<string> {
    const kept = this.#kept.get(workspaceId)
    if (kept !== undefined && kept.untilMs > performance.now()) return kept.token
    const token = this.#sign(workspaceId)
    this.#kept.delete(workspaceId)
    this.#kept.set(workspaceId, { token, untilMs: performance.now() + REUSE_MS })
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value)
    return token
  }

  #sign(workspaceId: string | undefined): Promise<string> {
    return new SignJWT({ cluster_id: this.#clusterId, ...(workspaceId !== undefined && { workspace_id: workspaceId }) })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuedAt()
      .setExpirationTime(`${AGENT_CREDENTIAL_SECONDS}s`)
      .sign(this.#secret)
  }
}

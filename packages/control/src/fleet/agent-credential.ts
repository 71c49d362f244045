import { AGENT_CREDENTIAL_SECONDS } from '@offshoot/contract/agent-credential'
import { SignJWT } from 'jose'

/**
 * Half of a credential's lifetime. A credential that is handed out is therefore valid for at least as long, which also
 * covers clock differences.
 */
const REUSE_MS = (AGENT_CREDENTIAL_SECONDS * 1000) / 2
/** Workspaces whose credentials are cached. Beyond that the oldest is dropped. */
const MAX_KEPT = 10_000

/**
 * Signs the credentials for one agent and reuses each for half its lifetime, because signing is most of the cost of a
 * small request.
 */
export class AgentCredential {
  readonly #secret: Uint8Array
  readonly #clusterId: string
  readonly #kept = new Map<string | undefined, { readonly token: Promise<string>; readonly untilMs: number }>()

  /**
   * @param secret base64, as in the configuration
   * @param clusterId the agent deletes nothing for a control of another cluster
   */
  constructor(secret: string, clusterId: string) {
    this.#clusterId = clusterId
    this.#secret = Buffer.from(secret, 'base64')
  }

  /** @param workspaceId the workspace whose sandboxes the credential opens; `undefined` for control itself */
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

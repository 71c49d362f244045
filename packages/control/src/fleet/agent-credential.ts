import { AGENT_CREDENTIAL_SECONDS, SSH_GRANT_KEY_ID } from '@offshoot/contract/agent-credential'
import { SSH_GRANT_SECONDS } from '@offshoot/contract/edge-ssh'
import { type JWTPayload, jwtVerify, SignJWT } from 'jose'

/**
 * Half of a credential's lifetime. A credential that is handed out is therefore valid for at least as long, which also
 * covers clock differences.
 */
const REUSE_MS = (AGENT_CREDENTIAL_SECONDS * 1000) / 2
/** Seconds after its end for which a grant still proves that its connection was admitted: an outage of control. */
const RENEWABLE_SECONDS = 24 * 60 * 60
/** Workspaces whose credentials are cached. Beyond that the oldest is dropped. */
const MAX_KEPT = 10_000

/**
 * Signs the credentials for one agent and reuses each for half its lifetime, because signing is most of the cost of a
 * small request.
 */
export class AgentCredential {
  readonly #secret: Uint8Array
  readonly #clusterId: string
  readonly #hostId: string | undefined
  readonly #kept = new Map<string | undefined, { readonly token: Promise<string>; readonly untilMs: number }>()

  /**
   * @param secret base64, as in the configuration
   * @param clusterId the agent deletes nothing for a control of another cluster
   * @param hostId the audience of each credential. Absent: the agent is on this host and its id is not known yet
   */
  constructor(secret: string, clusterId: string, hostId?: string) {
    this.#clusterId = clusterId
    this.#hostId = hostId
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

  /** @param session names the connection, whose next grant needs this one */
  sshGrant(sandboxId: string, workspaceId: string, session: string): Promise<string> {
    const claims = { cluster_id: this.#clusterId, workspace_id: workspaceId, sandbox_id: sandboxId, session }
    return this.#token(claims)
      .setProtectedHeader({ alg: 'HS256', kid: SSH_GRANT_KEY_ID })
      .setExpirationTime(`${SSH_GRANT_SECONDS}s`)
      .sign(this.#secret)
  }

  async isSshGrant(grant: string, sandboxId: string, session: string): Promise<boolean> {
    try {
      const options = { algorithms: ['HS256'], clockTolerance: RENEWABLE_SECONDS }
      const { payload, protectedHeader } = await jwtVerify(grant, this.#secret, options)
      return (
        protectedHeader.kid === SSH_GRANT_KEY_ID &&
        payload['sandbox_id'] === sandboxId &&
        payload['session'] === session
      )
    } catch {
      return false
    }
  }

  #sign(workspaceId: string | undefined): Promise<string> {
    const claims = { cluster_id: this.#clusterId, ...(workspaceId !== undefined && { workspace_id: workspaceId }) }
    return this.#token(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime(`${AGENT_CREDENTIAL_SECONDS}s`)
      .sign(this.#secret)
  }

  #token(claims: JWTPayload): SignJWT {
    const token = new SignJWT(claims).setIssuedAt()
    return this.#hostId === undefined ? token : token.setAudience(this.#hostId)
  }
}

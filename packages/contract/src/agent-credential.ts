/**
 * The credential control shows an agent with each request: a JWT, HS256 with that agent's own secret.
 * With a workspace it opens that workspace's sandboxes; without, it is control speaking for itself.
 */
export interface AgentCredentialClaims {
  readonly workspace_id?: string
}

/** Seconds a credential holds; long enough for clocks that differ a little, too short to be worth stealing. */
export const AGENT_CREDENTIAL_SECONDS = 60

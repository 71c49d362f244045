/**
 * The credential control shows an agent with each request: a JWT, HS256 with that agent's own secret.
 * With a workspace it opens that workspace's sandboxes; without, it is control speaking for itself.
 *
 * The edge has a secret of its own with each agent, and its credentials name it in the header's `kid`: they open the list
 * of sandboxes, the log and the ports, and nothing else.
 */
export interface AgentCredentialClaims {
  readonly workspace_id?: string
}

/** Seconds a credential holds; long enough for clocks that differ a little, too short to be worth stealing. */
export const AGENT_CREDENTIAL_SECONDS = 60

/** `kid` of the edge's credentials. */
export const EDGE_KEY_ID = 'edge'

/**
 * Claims of the JWT (HS256, signed with the agent's own secret) that control sends with each request to an agent. With
 * `workspace_id` it grants access to that workspace's sandboxes. Without, the caller is control itself.
 *
 * The edge shares a second secret with each agent; its tokens carry the `kid` {@link EDGE_KEY_ID}. They grant access to
 * the list of sandboxes, the event log and the ports only.
 */
export interface AgentCredentialClaims {
  readonly workspace_id?: string
}

/** Lifetime of a token in seconds: long enough to tolerate clock skew, too short for a stolen token to be useful. */
export const AGENT_CREDENTIAL_SECONDS = 60

/** `kid` of the edge's tokens. */
export const EDGE_KEY_ID = 'edge'

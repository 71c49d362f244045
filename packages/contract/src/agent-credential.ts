/**
 * Claims of the JWT (HS256, signed with the agent's own secret) that control sends with each request to an agent. With
 * `workspace_id` it grants access to that workspace's sandboxes. Without, the caller is control itself.
 *
 * The edge shares a second secret with each agent; its tokens carry the `kid` {@link EDGE_KEY_ID}. They grant access to
 * the list of sandboxes, the event log and the ports only.
 *
 * A grant for an SSH session has the `kid` {@link SSH_GRANT_KEY_ID}. It opens the routes of SSH, for one sandbox.
 */
export interface AgentCredentialClaims {
  /** The id of the host that the token is for. A host that joined over TLS accepts no token without it. */
  readonly aud?: string
  readonly workspace_id?: string
  /** Of a grant for an SSH session. */
  readonly sandbox_id?: string
}

/** Lifetime of a token in seconds: long enough to tolerate clock skew, too short for a stolen token to be useful. */
export const AGENT_CREDENTIAL_SECONDS = 60

/** `kid` of grants for SSH sessions, which control signs and edges present. They also have a `sandbox_id`. */
export const SSH_GRANT_KEY_ID = 'ssh'

/** `kid` of the edge's tokens. */
export const EDGE_KEY_ID = 'edge'

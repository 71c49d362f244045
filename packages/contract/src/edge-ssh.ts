import { z } from 'zod'

/** `GET` returns {@link edgeSshHostKey}; 404 if the service has no SSH gateway. Authorized by the edge's credential. */
export const EDGE_SSH_HOST_KEY_PATH = '/internal/ssh/host-key'

/** `POST` of {@link edgeSshRequest} returns {@link edgeSshAdmission}. 404: permission denied, for every reason alike. */
export const EDGE_SSH_ADMISSIONS_PATH = '/internal/ssh/admissions'

/** The identity of the gateway, which all edges share. */
export const edgeSshHostKey = z.object({
  /** In the format of OpenSSH's key files. */
  private_key: z.string(),
})

/** Maximum characters of each base64 text. */
const MAX_PROOF_CHARS = 64 * 1024

/**
 * The proof with which a client authenticates. Control verifies it itself, so that an edge can enter only the sandboxes
 * to which a client has just authenticated.
 */
export const edgeSshRequest = z.strictObject({
  /** The signed bytes in base64 (RFC 4252, 7): the session and the request, with the user name and the public key. */
  signed: z.base64().max(MAX_PROOF_CHARS),
  /** The signature in SSH's format, in base64. */
  signature: z.base64().max(MAX_PROOF_CHARS),
  /** Address of the client. */
  ip: z.string().max(64),
  /** The client's software, for the audit log. */
  client: z.string().max(256),
  /** The last grant of this connection. A certificate may expire while its connection lasts. */
  grant: z.string().max(MAX_PROOF_CHARS).optional(),
})
export type EdgeSshRequest = z.infer<typeof edgeSshRequest>

export const edgeSshAdmission = z.object({
  sandbox_id: z.string(),
  /** Inside of the sandbox. `null`: the user of its template. */
  user: z.string().nullable(),
  /** Whose connections count together: a user or a key. */
  caller: z.string(),
  /** Opens the inside of this sandbox at its agent. */
  grant: z.string(),
})
export type EdgeSshAdmission = z.infer<typeof edgeSshAdmission>

/** Seconds for which a grant is valid. */
export const SSH_GRANT_SECONDS = 180
/** Milliseconds between two admissions of a connection. A revoked key or member loses open connections this late. */
export const SSH_RENEW_MS = 60_000

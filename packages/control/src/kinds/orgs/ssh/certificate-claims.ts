import { scope } from '@offshoot/contract/scope'
import { z } from 'zod'
import type { Caller, SandboxCaller } from '../../../platform/http/caller.ts'

/** The certificate's extension that says whose credential it stands for. Other servers ignore it. */
export const CLAIMS_EXTENSION = 'caller@offshoot'

/** Whose credential a certificate stands for. Control reads the credential again at each use. */
export const certificateClaims = z.discriminatedUnion('method', [
  z.strictObject({
    method: z.literal('user'),
    user_id: z.uuid(),
    /** The certificate ends with it. `null`: the token belonged to no session. */
    session_id: z.uuid().nullable(),
    /** The only workspace; `null`: every workspace of the user. */
    workspace_id: z.uuid().nullable(),
    /** `null`: all. */
    scopes: z.array(scope).nullable(),
  }),
  z.strictObject({
    method: z.literal('key'),
    /** Of the API key. */
    prefix: z.string(),
  }),
])
export type CertificateClaims = z.infer<typeof certificateClaims>

export function claimsOf(caller: Exclude<Caller, SandboxCaller>): CertificateClaims {
  if (caller.method === 'key') return { method: 'key', prefix: caller.prefix }
  const { user, token, workspaceId, scopes } = caller
  return {
    method: 'user',
    user_id: user.id,
    session_id: token.sessionId,
    workspace_id: token.isNarrowed ? workspaceId : null,
    scopes: scopes === null ? null : [...scopes],
  }
}

import { createHash, randomBytes } from 'node:crypto'
import type { BetterAuthPlugin } from 'better-auth'
import { APIError, createAuthEndpoint } from 'better-auth/api'
import { setSessionCookie } from 'better-auth/cookies'
import { z } from 'zod'
import type { Queryable } from '../../../platform/db/statement.ts'
import { putSignInLink, takeSignInLink } from './sign-in-link-statements.ts'

/** The next start of the service makes another link. */
const LINK_SECONDS = 24 * 3600
const MAX_TOKEN_CHARS = 256

/**
 * Makes the token of a link that signs a user in once. An earlier link of the user ends.
 * @returns the token, of which the database has only the hash
 */
export async function makeSignInLink(database: Queryable, userId: string): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await putSignInLink(database, userId, sha256(token), LINK_SECONDS)
  return token
}

/**
 * `POST /api/auth/sign-in/link {"token"}` begins a session. The library's own tokens for one sign-in need a session that
 * exists already, whose token they store readably.
 *
 * No second factor is asked for: whoever sees the link reads the output of the service's start.
 */
export function signInLinks(database: Queryable) {
  return {
    id: 'sign-in-link',
    endpoints: {
      signInLink: createAuthEndpoint(
        '/sign-in/link',
        { method: 'POST', body: z.object({ token: z.string().max(MAX_TOKEN_CHARS) }) },
        async (context) => {
          const { internalAdapter } = context.context
          const [link] = await takeSignInLink(database, sha256(context.body.token))
          const user = link?.is_valid === true ? await internalAdapter.findUserById(link.user_id) : null
          if (user === null) throw new APIError('UNAUTHORIZED', { message: 'this link was used or has expired' })
          const session = await internalAdapter.createSession(user.id)
          await setSessionCookie(context, { session, user })
          return context.json({ token: session.token, user })
        },
      ),
    },
  } satisfies BetterAuthPlugin
}

function sha256(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

import { z } from 'zod'
import type { DescribedRoute } from '../../../platform/http/route-docs.ts'
import { MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS } from './password-length.ts'

const TAG = 'Accounts'
const email = z.string()
const password = z.string().min(MIN_PASSWORD_CHARS).max(MAX_PASSWORD_CHARS)
const user = z.object({ id: z.string(), email: z.string(), name: z.string() })
/**
 * `token` is the session's token, which the cookie contains too. `/api/auth/token` accepts either form as
 * `Authorization: Bearer`.
 */
const session = z.object({ token: z.string().nullable(), user })

/** The operations of the accounts library that a client needs to get a JWT. The library has more. */
export const accountOperations: readonly DescribedRoute[] = [
  {
    method: 'POST',
    url: '/api/auth/sign-up/email',
    docs: {
      summary: 'Make an account and begin a session (a cookie)',
      tag: TAG,
      body: z.object({ email, password, name: z.string() }),
      status: 200,
      answer: session,
    },
  },
  {
    method: 'POST',
    url: '/api/auth/sign-in/email',
    docs: {
      summary: 'Begin a session (a cookie)',
      tag: TAG,
      body: z.object({ email, password: z.string() }),
      status: 200,
      answer: session,
    },
  },
  {
    method: 'POST',
    url: '/api/auth/sign-in/link',
    docs: {
      summary: 'Begin a session (a cookie) with the token of a link, which works once',
      tag: TAG,
      body: z.object({ token: z.string() }),
      status: 200,
      answer: session,
    },
  },
  {
    method: 'POST',
    url: '/api/auth/two-factor/enable',
    docs: {
      summary: 'Prepare a second factor; a first code at verify-totp switches it on',
      tag: TAG,
      body: z.object({ password: z.string() }),
      status: 200,
      answer: z.object({ totpURI: z.string(), backupCodes: z.array(z.string()) }),
    },
  },
  {
    method: 'POST',
    url: '/api/auth/two-factor/verify-totp',
    docs: {
      summary: 'Complete a sign-in with a code, or switch the second factor on',
      tag: TAG,
      body: z.object({ code: z.string(), trustDevice: z.boolean().optional() }),
      status: 200,
      answer: session,
    },
  },
  {
    method: 'POST',
    url: '/api/auth/two-factor/verify-backup-code',
    docs: {
      summary: 'Complete a sign-in with a recovery code, which works once',
      tag: TAG,
      body: z.object({ code: z.string() }),
      status: 200,
      answer: session,
    },
  },
  {
    method: 'POST',
    url: '/api/auth/two-factor/disable',
    docs: {
      summary: 'Switch the second factor off',
      tag: TAG,
      body: z.object({ password: z.string() }),
      status: 200,
      answer: z.object({ status: z.boolean() }),
    },
  },
  {
    method: 'POST',
    url: '/api/auth/sign-out',
    docs: { summary: 'End the session', tag: TAG, status: 200, answer: z.object({ success: z.boolean() }) },
  },
  {
    method: 'GET',
    url: '/api/auth/token',
    docs: {
      summary: 'Get a JWT of the session, for an hour',
      tag: TAG,
      status: 200,
      answer: z.object({ token: z.string() }),
    },
  },
  {
    method: 'GET',
    url: '/api/auth/jwks',
    docs: {
      summary: 'Read the public keys of our JWTs (RFC 7517)',
      tag: TAG,
      status: 200,
      answer: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }),
    },
  },
]

import { passkey } from '@better-auth/passkey'
import { APIError } from 'better-auth/api'
import { twoFactor } from 'better-auth/plugins/two-factor'
import type { Queryable } from '../../../platform/db/statement.ts'
import { claimCode } from './used-code-statements.ts'

/** Wrong codes of one account, over all sign-ins, before it is locked for {@link LOCKED_SECONDS}. */
const MAX_WRONG_CODES = 10
const LOCKED_SECONDS = 900
/** Seconds between the password and the code. */
const CHALLENGE_SECONDS = 600

/** Codes by mail are switched off: whoever reads the mailbox could already reset the password. */
export const CLOSED_FACTOR_PATHS = ['/two-factor/send-otp', '/two-factor/verify-otp']

/** TOTP (RFC 6238) with recovery codes, after a sign-in with a password. */
export function secondFactor() {
  return twoFactor({
    issuer: 'Offshoot',
    twoFactorCookieMaxAge: CHALLENGE_SECONDS,
    accountLockout: { enabled: true, maxFailedAttempts: MAX_WRONG_CODES, durationSeconds: LOCKED_SECONDS },
  })
}

/** The library takes a code as often as it comes while it is valid. This hook runs before it makes a session. */
export async function refuseUsedCode(
  database: Queryable,
  userId: string,
  request: { readonly path?: string; readonly body?: { readonly code?: string } } | null,
): Promise<void> {
  if (request?.path !== '/two-factor/verify-totp') return
  const [claimed] = await claimCode(database, userId, request.body?.code ?? '')
  if (claimed === undefined) throw new APIError('UNAUTHORIZED', { message: 'This code was used before' })
}

/**
 * Passkeys (WebAuthn). A passkey signs in without password and code, so its authenticator must have verified the user, by
 * a PIN or a fingerprint. The library itself would accept one that checked only that somebody is present.
 *
 * @param origins of the pages that may use passkeys; otherwise the library would accept what the request claims
 */
export function passkeys(publicUrl: string, origins: readonly string[]) {
  return passkey({
    rpID: new URL(publicUrl).hostname,
    rpName: 'Offshoot',
    origin: [new URL(publicUrl).origin, ...origins],
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    registration: {
      afterVerification: ({ verification }) => refuseUnverified(verification.registrationInfo?.userVerified),
    },
    authentication: {
      afterVerification: ({ verification }) => refuseUnverified(verification.authenticationInfo.userVerified),
    },
  })
}

function refuseUnverified(isVerified: boolean | undefined): undefined {
  if (isVerified !== true) throw new APIError('UNAUTHORIZED', { message: 'The authenticator did not verify its user' })
}

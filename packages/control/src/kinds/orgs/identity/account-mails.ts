import type { Mail } from '../../../platform/mail/mail.ts'

interface Recipient {
  readonly email: string
}

/**
 * @param token the token that `POST /api/auth/reset-password` takes together with the new password
 * @param url a page that asks for the new password, if the caller named one
 */
export function resetMail({ email }: Recipient, token: string, url: string | null, publicUrl: string): Mail {
  const how =
    url === null
      ? `Send it with the new password to ${publicUrl}/api/auth/reset-password:\n\n  {"token":"${token}","newPassword":"…"}`
      : `Choose a new one here:\n\n  ${url}`
  return {
    to: email,
    subject: 'Reset your Offshoot password',
    text: `Somebody, hopefully you, has forgotten the password of this account.\n\n${how}\n\nThis works once, for an hour. If it was not you, do nothing: the password stays as it is.\n`,
  }
}

/** Sent after a reset. Keys belong to workspaces and run in production, so a reset leaves them. */
export function passwordChangedMail({ email }: Recipient, publicUrl: string): Mail {
  return {
    to: email,
    subject: 'Your Offshoot password was changed',
    text: `The password of this account was reset. All its sessions and tokens have ended.\n\nAPI keys that you made still work. ${publicUrl}/v1/me/tokens lists those of a workspace; DELETE ends all of yours in every workspace. Do so, and review your passkeys, if somebody else had access to the account.\n`,
  }
}

export function verificationMail({ email }: Recipient, url: string): Mail {
  return {
    to: email,
    subject: 'Confirm your address for Offshoot',
    text: `Please confirm that this is your address:\n\n  ${url}\n\nThis works for a day. If you have no account with Offshoot, do nothing.\n`,
  }
}

/** Sent to the owner of an account when a sign-up uses the same address. */
export function existingAccountMail({ email }: Recipient): Mail {
  return {
    to: email,
    subject: 'You already have an Offshoot account',
    text: 'Somebody, hopefully you, has tried to sign up with this address. It has an account already: sign in, or reset its password.\n',
  }
}

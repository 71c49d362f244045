import { INVITATION_DAYS } from '@offshoot/contract/org'
import type { Mail } from '../../platform/mail/mail.ts'

export interface InvitationWords {
  readonly email: string
  readonly token: string
  readonly inviter: string
  readonly org: string
  readonly publicUrl: string
}

export function invitationMail({ email, token, inviter, org, publicUrl }: InvitationWords): Mail {
  return {
    to: email,
    subject: `You are invited to ${oneLine(org)} on Offshoot`,
    text: [
      `${oneLine(inviter)} invites you to the workspace "${oneLine(org)}".`,
      `Open this link within ${INVITATION_DAYS} days, and sign in or sign up with the address ${email}:`,
      // Browsers send what stands behind "#" to no server, so no log keeps the token.
      `  ${publicUrl}/invitation#${token}`,
      `A program accepts the invitation with POST ${publicUrl}/v1/orgs/invites/${token}/accept.`,
      'If you do not know who that is, do nothing.\n',
    ].join('\n\n'),
  }
}

/** Users choose names, so remove control characters: a name must not imitate other parts of the mail. */
function oneLine(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 100)
}

import type { Mail } from '../../platform/mail/mail.ts'

export interface CreditWords {
  readonly email: string
  readonly workspace: string
  readonly percent: 80 | 100
  readonly creditUsd: number
  /** `YYYY-MM`. */
  readonly month: string
}

const WHAT_THEN: Readonly<Record<CreditWords['percent'], string>> = {
  80: 'When all of it is spent, running sandboxes are paused and new ones are refused; nothing is deleted.',
  100: 'Running sandboxes are paused and new ones are refused; nothing is deleted.',
}

export function creditMail({ email, workspace, percent, creditUsd, month }: CreditWords): Mail {
  const name = workspace.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 100)
  return {
    to: email,
    subject: `${percent} percent of the free credit of ${name} is spent`,
    text: [
      `The workspace "${name}" has used ${percent} percent of its credit of ${creditUsd.toFixed(2)} USD for ${month}.`,
      WHAT_THEN[percent],
      'An upgrade of the plan lifts that within a minute; so does the first of the month (UTC).\n',
    ].join('\n\n'),
  }
}

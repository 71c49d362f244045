import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
/** The specification takes 24 to 64. */
const SECRET_BYTES = 32

/** A new secret as Standard Webhooks writes it: `whsec_` and base64. */
export function mintSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
}

/**
 * The value of the header `webhook-signature` (Standard Webhooks, "Symmetric signatures"): one signature for each
 * secret, the newest first.
 * @param seconds the value of `webhook-timestamp`
 */
export function sign(secrets: readonly string[], id: string, seconds: number, body: string): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
    })
    .join(' ')
}

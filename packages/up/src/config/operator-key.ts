import { createHash } from 'node:crypto'
import { secret } from '../base/secret.ts'

/**
 * The operator's key for `/v1/admin`. Created at the first start; stored in `credentials.json` and in the secrets.
 * Control has only its hash.
 */
export async function readOperatorKey(secretsFolder: string): Promise<string> {
  return `ofs_operator_${(await secret(secretsFolder, 'operator')).toString('base64url')}`
}

/** SHA-256 in hex, as in control's configuration. */
export function operatorKeyHash(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

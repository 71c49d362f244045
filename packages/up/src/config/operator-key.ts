import { createHash } from 'node:crypto'
import { secret } from './secret.ts'

/** What opens `/v1/admin`: made at the first start, kept in `credentials.json` and the secrets; control has its hash. */
export async function readOperatorKey(secretsFolder: string): Promise<string> {
  return `ofs_operator_${(await secret(secretsFolder, 'operator')).toString('base64url')}`
}

/** In hex, as control's configuration has it. */
export function operatorKeyHash(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

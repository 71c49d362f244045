import type { Seal } from '../../../platform/secrets/seal.ts'
import type { AppRow } from './app-row.ts'

/** Encrypts an app's variables, so that the database does not contain them in plain text. */
export function sealEnvironment(seal: Seal, env: Readonly<Record<string, string>>): Buffer {
  return seal.close(JSON.stringify(env))
}

export function openEnvironment(seal: Seal, { env }: Pick<AppRow, 'env'>): Record<string, string> {
  return JSON.parse(seal.open(env)) as Record<string, string>
}

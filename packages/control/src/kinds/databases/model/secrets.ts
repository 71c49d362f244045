import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type { Seal } from '../../../platform/secrets/seal.ts'

/**
 * The credentials of one database. The API returns them to callers who may see the database, so they are stored
 * (sealed) and not hashed.
 */
export interface Secrets {
  /** Of the owner's role. */
  readonly password: string
  /** `ofs_pg_…`: the token for SQL over HTTP. */
  readonly brokerToken: string
  /** Control's own password, for administration inside the server. */
  readonly adminToken: string
}

const SECRET_BYTES = 24
/** PostgreSQL's own iteration count and salt length. */
const ROUNDS = 4096
const SALT_BYTES = 16

export function makeSecrets(): Secrets {
  return { password: secret(), brokerToken: `ofs_pg_${secret()}`, adminToken: secret() }
}

export function closeSecrets(seal: Seal, secrets: Secrets): Buffer {
  return seal.close(JSON.stringify(secrets))
}

export function openSecrets(seal: Seal, sealed: Buffer): Secrets {
  return JSON.parse(seal.open(sealed)) as Secrets
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** The verifier that PostgreSQL stores for a password (RFC 5803). The server never receives the password itself. */
export async function scramVerifier(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const salted = await promisify(pbkdf2)(password, salt, ROUNDS, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64')
  const server = keyed('Server Key').toString('base64')
  return `SCRAM-SHA-256$${ROUNDS}:${salt.toString('base64')}$${stored}:${server}`
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { keyPairOf, type SshKeyPair } from '@offshoot/kit/ssh/ssh-certificate'
import { publicKeyLine } from '@offshoot/kit/ssh/ssh-public-key'
import { string } from '@offshoot/kit/ssh/ssh-wire'

export function newPair(): SshKeyPair {
  return keyPairOf(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
}

export const lineOf = ({ publicKey }: SshKeyPair) => publicKeyLine(publicKey)

/** What a client asks for and signs. */
export interface SshAsked {
  readonly pair: SshKeyPair
  readonly certificate?: string
  readonly user: string
  readonly grant?: string
  readonly session?: Buffer
  readonly change?: (signed: Buffer) => Buffer
  readonly service?: string
}

const SESSION = randomBytes(32)

/** The request that an edge sends for a client that has signed. */
export function proofOf({ pair, certificate, user, session = SESSION, change, service = 'ssh-connection' }: SshAsked) {
  const [type = '', base64 = ''] = (certificate ?? lineOf(pair)).split(' ')
  const signed = Buffer.concat([
    string(session),
    Buffer.of(50),
    string(user),
    string(service),
    string('publickey'),
    Buffer.of(1),
    string(type),
    string(Buffer.from(base64, 'base64')),
  ])
  const signature = Buffer.concat([string('ssh-ed25519'), string(sign(null, signed, pair.privateKey))])
  return { signed: (change?.(signed) ?? signed).toString('base64'), signature: signature.toString('base64') }
}

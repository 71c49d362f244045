import { randomBytes } from 'node:crypto'
import type { SshKeyPair } from './ssh-certificate.ts'
import { string, uint32 } from './ssh-wire.ts'

const MAGIC = Buffer.from('openssh-key-v1\0')
/** The private part is padded to a multiple of this number of bytes. */
const BLOCK_BYTES = 8
const LINE_CHARS = 70

/** An Ed25519 key in the format of OpenSSH's key files (its PROTOCOL.key), without a passphrase. */
export function privateKeyFile({ publicKey, privateKey }: SshKeyPair, comment = ''): string {
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' })
  const point = Buffer.from(x, 'base64url')
  const check = randomBytes(4)
  const secret = Buffer.concat([
    check,
    check,
    string(publicKey.type),
    string(point),
    string(Buffer.concat([Buffer.from(d, 'base64url'), point])),
    string(comment),
  ])
  const padding = Buffer.from(
    Array.from({ length: (BLOCK_BYTES - (secret.length % BLOCK_BYTES)) % BLOCK_BYTES }, (_unused, index) => index + 1),
  )
  const bytes = Buffer.concat([
    MAGIC,
    string('none'),
    string('none'),
    string(''),
    uint32(1),
    string(publicKey.blob),
    string(Buffer.concat([secret, padding])),
  ])
  const lines = bytes.toString('base64').match(new RegExp(`.{1,${LINE_CHARS}}`, 'g')) ?? []
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n')
}

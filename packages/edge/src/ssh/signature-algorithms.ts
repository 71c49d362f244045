import { SSH_KEY_TYPES } from '@offshoot/kit/ssh/ssh-public-key'

const CERTIFICATE = '-cert-v01@openssh.com'
/** Without SHA-1, which the key type `ssh-rsa` names. */
const PLAIN = [...SSH_KEY_TYPES.filter((type) => type !== 'ssh-rsa'), 'rsa-sha2-512', 'rsa-sha2-256']
const ALL = new Set([...PLAIN, ...PLAIN.map((name) => `${name.replace('@openssh.com', '')}${CERTIFICATE}`)])

/** Whether a client may sign with an algorithm, which it names as in RFC 8332. */
export function isSignatureAlgorithm(name: string): boolean {
  return ALL.has(name)
}

import { createPrivateKey, createPublicKey, generateKeyPairSync, webcrypto } from 'node:crypto'
// The x509 library below needs this import first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'

/** The only kind of key that a {@link CertificateAuthority} certifies. */
export const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** A new private key, in PEM. */
export function makePrivateKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/**
 * A request for a certificate of this key (PKCS #10), in PEM. It names nobody: the authority knows who asks.
 * @param key PEM
 */
export async function certificateRequest(key: string): Promise<string> {
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: 'CN=Offshoot',
    keys: await keyPairOf(key),
    signingAlgorithm: ALGORITHM,
  })
  return request.toString('pem')
}

/** @param key PEM */
export async function keyPairOf(key: string): Promise<webcrypto.CryptoKeyPair> {
  const privateKey = createPrivateKey(key)
  const [secret, shown] = [
    privateKey.export({ type: 'pkcs8', format: 'der' }),
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
  ]
  return {
    privateKey: await webcrypto.subtle.importKey('pkcs8', new Uint8Array(secret), ALGORITHM, false, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', new Uint8Array(shown), ALGORITHM, true, ['verify']),
  }
}

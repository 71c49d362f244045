import { generateKeyPairSync, sign } from 'node:crypto'
import { isSignedBy, parsePublicKey } from '@offshoot/kit/ssh/ssh-public-key'
import { SshFormatError, string } from '@offshoot/kit/ssh/ssh-wire'
import { expect, it } from 'vitest'
import { wireSignature } from './wire-signature.ts'

const data = Buffer.from('signed')

it.each([
  ['P-256', 'nistp256', 'sha256'],
  ['P-384', 'nistp384', 'sha384'],
  ['P-521', 'nistp521', 'sha512'],
])('turns signatures of %s back into the form of SSH', (namedCurve, curve, hash) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
  const type = `ecdsa-sha2-${curve}`
  const key = parsePublicKey(Buffer.concat([string(type), string(curve), string(point)]))
  for (let round = 0; round < 50; round++)
    expect(isSignedBy(key, type, data, wireSignature(type, sign(hash, data, privateKey)))).toBe(true)
})

it('refuses bytes that are no signature', () => {
  for (const wrong of [
    '',
    '30',
    '3000',
    '30020201',
    '3081',
    '308201',
    '30060201010201',
    '3006020101020101ff',
    '310602010102',
  ])
    expect(() => wireSignature('ecdsa-sha2-nistp256', Buffer.from(wrong, 'hex'))).toThrow(SshFormatError)
  expect(() => wireSignature('sk-ssh-ed25519@openssh.com', Buffer.alloc(4))).toThrow(SshFormatError)
})

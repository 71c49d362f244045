import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { verifySignature } from './signature.ts'

const NOW_MS = 1_800_000_000_000
const file = { path: '/a', operation: 'read', user: 'user', token: 'secret' } as const
const digest = (text: string) => `v1_${createHash('sha256').update(text).digest('base64').replace(/=+$/, '')}`

describe('verifySignature', () => {
  it.each([
    ['without a time', 'valid', { signature: digest('/a:read:user:secret') }],
    ['in time', 'valid', { signature: digest('/a:read:user:secret:1800000001'), signature_expiration: '1800000001' }],
    ['late', 'expired', { signature: digest('/a:read:user:secret:1799999999'), signature_expiration: '1799999999' }],
    ['before 1970', 'expired', { signature: digest('/a:read:user:secret:-5'), signature_expiration: '-5' }],
    ['with another time', 'invalid', { signature: digest('/a:read:user:secret'), signature_expiration: '1799999999' }],
    ['of another operation', 'invalid', { signature: digest('/a:write:user:secret') }],
    ['without a signature', 'invalid', {}],
  ])('%s is %s', (_what, expected, query) =>
    expect(verifySignature(file, new URLSearchParams(query), NOW_MS)).toBe(expected),
  )
})

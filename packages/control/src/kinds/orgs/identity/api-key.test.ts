import { describe, expect, it } from 'vitest'
import { apiKeyPrefix, matchesHash, mintApiKey, ownForm } from './api-key.ts'

describe('API keys', () => {
  it('have the specified shape, a public prefix, and never repeat', () => {
    const keys = Array.from({ length: 200 }, mintApiKey)
    for (const { key, prefix } of keys) {
      expect(key).toMatch(/^ofs_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}$/)
      expect(key.startsWith(`${prefix}_`)).toBe(true)
      expect(apiKeyPrefix(key)).toBe(prefix)
    }
    expect(new Set(keys.map(({ key }) => key)).size).toBe(keys.length)
  })

  it('match their own hash and no other', () => {
    const [a, b] = [mintApiKey(), mintApiKey()]
    expect(matchesHash(a.key, a.hash)).toBe(true)
    expect(matchesHash(b.key, a.hash)).toBe(false)
    expect(matchesHash(a.key, Buffer.alloc(0))).toBe(false)
  })

  it('have a second form in hexadecimal digits', () => {
    const { key } = mintApiKey()
    expect(ownForm(`e2b_${Buffer.from(key).toString('hex')}`)).toBe(key)
    expect(ownForm(key)).toBe(key)
    for (const text of ['', 'e2b_', 'e2b_0', 'e2b_0g', 'e2b_AB', 'E2B_00']) expect(ownForm(text)).toBe(text)
  })

  it.each([
    '',
    'ofs_',
    'ofs_12345678',
    `ofs_12345678_${'a'.repeat(31)}`,
    `ofs_12345678_${'a'.repeat(33)}`,
    `ofs_1234567!_${'a'.repeat(32)}`,
  ])('%j is none', (text) => expect(apiKeyPrefix(text)).toBeNull())
})

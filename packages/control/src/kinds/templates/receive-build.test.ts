import { withinBudget } from '@offshoot/kit/test/within-budget'
import { describe, expect, it } from 'vitest'
import { isBase64 } from './receive-build.ts'

const MEGABYTE = 1024 * 1024

describe('isBase64', () => {
  it.each(['', 'QQ==', 'QUI=', 'QUJD', 'Q U\nJ D', 'QQ== \r\n', ' ', '+/+/', 'QQ'])('takes %j', (text) => {
    expect(isBase64(text)).toBe(true)
  })

  it.each(['!', 'QQ===', 'Q=Q', 'QQ= =', 'QUJD-_', 'QQ==!', '\u{1f600}'])('refuses %j', (text) => {
    expect(isBase64(text)).toBe(false)
  })

  it.each([
    ['spaces and a character that is not base64', `${' '.repeat(MEGABYTE)}!`],
    ['padding', '='.repeat(MEGABYTE)],
    ['padding and spaces before another character', `QQ==${' '.repeat(MEGABYTE)}!`],
    ['data, spaces and a late padding', `${'QUJD '.repeat(MEGABYTE / 4)}= =`],
  ])('refuses a megabyte of %s in linear time', (_what, text) => {
    expect(withinBudget(() => isBase64(text))).toBe(false)
  })
})

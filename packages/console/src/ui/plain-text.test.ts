import { expect, it } from 'vitest'
import { plainText } from './plain-text.ts'

it('leaves colours, titles and control characters out', () => {
  expect(plainText('\u001B[1;31mred\u001B[0m \u001B]0;title\u0007after\u0000\r')).toBe('red after')
  expect(plainText('<script>\ttext')).toBe('<script>\ttext')
})

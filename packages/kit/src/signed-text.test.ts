import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { signText, verifySignedText } from './signed-text.ts'

/** The character after the text's last one. */
const nextCharacter = (text: string) => String.fromCharCode(text.charCodeAt(text.length - 1) + 1)

describe('a signed text', () => {
  const secret = randomBytes(32)
  const signed = signText(secret, 'a_text')

  it.each(['a_text', '', 'ä\n_'])('gives the text %j back', (text) => {
    expect(verifySignedText(secret, signText(secret, text))).toBe(text)
  })

  it.each([
    ['of another secret', signText(randomBytes(32), 'a_text')],
    ['with another text', signed.replace('a_text', 'b_text')],
    ['with another signature', `${signed.slice(0, -43)}${'A'.repeat(43)}`],
    ['with other unused bits', `${signed.slice(0, -1)}${nextCharacter(signed)}`],
    ['that is too long', `${signed}A`],
    ['that is cut off', signed.slice(0, -1)],
    ['without a signature', 'a_text'],
    ['that is empty', ''],
  ])('is refused: one %s', (_what, text) => expect(verifySignedText(secret, text)).toBeNull())
})

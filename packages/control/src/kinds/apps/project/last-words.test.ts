import { describe, expect, it } from 'vitest'
import { lastWords } from './last-words.ts'

const LOG = 'npm error A complete log of this run can be found in: /root/.npm/_logs/x.log'

describe('the last words of a program', () => {
  it.each([
    ['nothing', ' \n\n', undefined],
    ['its last line', 'fatal: one\nfatal: two\n\n', 'fatal: two'],
    ['a long line', 'x'.repeat(600), 'x'.repeat(500)],
    [
      'npm, of a lock file that is not right',
      `npm warn x\nnpm error code EUSAGE\nnpm error\nnpm error \`npm ci\` can only install\nnpm error Usage:\n${LOG}`,
      '`npm ci` can only install',
    ],
    [
      'npm, of a package that is not there',
      `npm error code E404\nnpm error 404 Not Found - GET x\nnpm error 404\n${LOG}`,
      '404 Not Found - GET x',
    ],
    [
      'npm, of a script of a package',
      `npm error code 1\nnpm error path /srv\nnpm error command failed\nnpm error command sh -c x\nnpm error no compiler\n${LOG}`,
      'no compiler',
    ],
    [
      'npm, of what a program said before',
      `npm error old\ntsc: bad\nnpm error code 2\nnpm error ended\n${LOG}`,
      'ended',
    ],
    ['npm, without a reason', `npm error code 2\n${LOG}`, LOG],
  ])('are %s', (_what, text, words) => {
    expect(lastWords(text)).toBe(words)
  })
})

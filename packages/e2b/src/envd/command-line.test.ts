import { describe, expect, it } from 'vitest'
import { parseCommandLine } from './command-line.ts'

describe('parseCommandLine', () => {
  it.each([
    ['/bin/bash -l -c cat', ['/bin/bash', '-l', '-c', 'cat']],
    [`/bin/bash -l -c 'echo hi  there'`, ['/bin/bash', '-l', '-c', 'echo hi  there']],
    [`printf '%s|' 'it'\\''s' ''`, ['printf', '%s|', `it's`, '']],
    [`sh -c 'cut here`, ['sh', '-c', 'cut here']],
    [`a 'line\nbreak'`, ['a', 'line\nbreak']],
    ['', []],
  ])('reads %j', (line, words) => expect(parseCommandLine(line)).toEqual(words))
})

import { describe, expect, it } from 'vitest'
import { parseNames } from './owner-names.ts'

describe('parseNames', () => {
  it('takes the first name of each number', () => {
    const text = 'root:x:0:0:root:/root:/bin/bash\ntoor:x:0:0::/:\nuser:x:1000:1000::/home/user:/bin/bash\n'
    expect([...parseNames(text)]).toEqual([
      [0, 'root'],
      [1000, 'user'],
    ])
  })

  it('leaves out what is not an account', () => {
    const lines = ['', ':x:1', 'a', 'a:x', 'a:x:', 'a:x:-1', 'a:x:1e3', 'a:x:99999999999', `${'n'.repeat(257)}:x:5`]
    expect([...parseNames(lines.join('\n'))]).toEqual([])
  })
})

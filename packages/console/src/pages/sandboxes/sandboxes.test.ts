import type { SandboxInfo } from '@offshoot/sdk'
import { describe, expect, it } from 'vitest'
import { merge } from './merge.ts'
import { parseVariables } from './variables.ts'

const sandbox = (id: string, second: number, status: SandboxInfo['status'] = 'running') =>
  ({ id, status, createdAt: `2026-01-01T00:00:0${second}.000Z` }) as SandboxInfo

describe('the list of sandboxes', () => {
  const list = [sandbox('b', 2), sandbox('a', 1)]

  it('replaces, adds at its place, and removes entries', () => {
    const changed = [
      { id: 'a', info: null },
      { id: 'b', info: sandbox('b', 2, 'paused') },
      { id: 'c', info: sandbox('c', 3) },
    ]
    expect(merge(list, changed)).toEqual([sandbox('c', 3), sandbox('b', 2, 'paused')])
  })

  it('stays when an unknown entry is removed', () => {
    expect(merge(list, [{ id: 'x', info: null }])).toEqual(list)
  })
})

describe('environment variables of a form', () => {
  it('are lines with a name and any value', () => {
    expect(parseVariables('A=1\n\n  B_2=x = y \nC=')).toEqual({ A: '1', B_2: 'x = y ', C: '' })
  })

  it.each(['A', '=1', '1A=2', 'A B=1'])('are refused: %s', (line) => {
    expect(() => parseVariables(`OK=1\n${line}`)).toThrow(`"${line}" is not NAME=value`)
  })
})

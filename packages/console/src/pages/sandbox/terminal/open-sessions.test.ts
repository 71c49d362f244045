import { describe, expect, it } from 'vitest'
import { MAX_SESSIONS, parseSessions, withNew, without } from './open-sessions.ts'

const first = { names: ['console-1'], active: 'console-1' }

describe('the terminals that a browser remembers', () => {
  it.each([null, '', '{', '[]', 'null', '7', '{"names":7}', '{"names":["../x",7,"console-0"]}'])(
    'begin with one instead of %s',
    (text) => expect(parseSessions(text)).toEqual(first),
  )

  it('come back, each once, with the one that was shown', () => {
    const text = JSON.stringify({ names: ['console-3', 'console-1', 'console-3'], active: 'console-1' })
    expect(parseSessions(text)).toEqual({ names: ['console-3', 'console-1'], active: 'console-1' })
    expect(parseSessions(text.replace('"active":"console-1"', '"active":"gone"')).active).toBe('console-3')
  })

  it('get the lowest free number, up to a limit', () => {
    expect(withNew({ names: ['console-1', 'console-3'], active: 'console-1' })).toEqual({
      names: ['console-1', 'console-3', 'console-2'],
      active: 'console-2',
    })
    let sessions = parseSessions(null)
    for (let i = 0; i < 20; i++) sessions = withNew(sessions)
    expect(sessions.names).toHaveLength(MAX_SESSIONS)
  })

  it('show the neighbour of a closed one, and are never none', () => {
    const names = ['console-1', 'console-2', 'console-3']
    expect(without({ names, active: 'console-2' }, 'console-2').active).toBe('console-3')
    expect(without({ names, active: 'console-3' }, 'console-3').active).toBe('console-2')
    expect(without({ names, active: 'console-1' }, 'console-3').active).toBe('console-1')
    expect(without(first, 'console-1')).toEqual(first)
  })
})

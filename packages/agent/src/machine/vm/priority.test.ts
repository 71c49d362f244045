import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants, getPriority } from 'node:os'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { setLowPriorityUntil } from './priority.ts'

const { PRIORITY_LOW, PRIORITY_NORMAL } = constants.priority

// Only root can raise a priority again.
describe.runIf(process.getuid?.() === 0)('setLowPriorityUntil', () => {
  let child: ChildProcess
  let identity: ProcessIdentity

  beforeEach(async () => {
    child = spawn('sleep', ['60'])
    await once(child, 'spawn')
    const found = child.pid === undefined ? null : await identifyProcess(child.pid)
    if (found === null) throw new Error('no process')
    identity = found
  })
  afterEach(async () => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
    child.kill('SIGKILL')
    await ended
  })

  it('lowers the priority of a process until the signal aborts', () => {
    const over = new AbortController()
    setLowPriorityUntil(over.signal, identity)
    expect(getPriority(identity.pid)).toBe(PRIORITY_LOW)
    over.abort()
    expect(getPriority(identity.pid)).toBe(PRIORITY_NORMAL)
  })

  it('does nothing if the signal has aborted already', () => {
    setLowPriorityUntil(AbortSignal.abort(), identity)
    expect(getPriority(identity.pid)).toBe(PRIORITY_NORMAL)
  })

  it('ignores a process that has ended', async () => {
    const over = new AbortController()
    setLowPriorityUntil(over.signal, identity)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(() => over.abort()).not.toThrow()
  })
})

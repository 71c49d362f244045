import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { eventually } from './agent-process.ts'
import { isStopped, standsStill } from './process-state.ts'

/** Long enough to free for a look meanwhile. */
const MEMORY_MIB = 256
const PROGRAM = `globalThis.held = Buffer.alloc(${MEMORY_MIB} * 1024 * 1024, 1); console.log('ready'); setInterval(() => 0, 1e6)`

it('a process that was stopped stands still, also while the kernel frees its memory after a kill', async () => {
  const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const { pid = 0 } = child
  await once(child.stdout, 'data')
  expect([isStopped(pid), standsStill(pid)]).toEqual([false, false])
  child.kill('SIGSTOP')
  await eventually('the stop', async () => isStopped(pid))
  expect(standsStill(pid)).toBe(true)
  child.kill('SIGKILL')
  const looks = []
  while (child.exitCode === null && child.signalCode === null) {
    looks.push(standsStill(pid))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await ended
  expect(new Set(looks)).toEqual(new Set([true]))
  expect(standsStill(pid)).toBe(true)
})

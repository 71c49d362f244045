import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { identifyProcess, isAlive, signalProcess } from './process-identity.ts'

it('knows a process by its start as well as its pid, and sees it end', async () => {
  // The name field precedes the numeric fields; this one contains a space and a parenthesis.
  const child = spawn('bash', ['-c', "printf ') x (' > /proc/$$/comm; echo; read"], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const identity = await identifyProcess(child.pid ?? 0)
  if (identity === null) throw new Error('not found')
  expect(identity.startTicks).toBeGreaterThan(0)
  expect(await isAlive(identity)).toBe(true)
  const another = { ...identity, startTicks: identity.startTicks - 1 }
  expect(await isAlive(another)).toBe(false)
  expect(signalProcess(another, 'SIGKILL')).toBe(false)
  expect(child.exitCode).toBeNull()

  expect(signalProcess(identity, 'SIGKILL')).toBe(true)
  await once(child, 'exit')
  expect(await isAlive(identity)).toBe(false)
  expect(signalProcess(identity, 'SIGKILL')).toBe(false)
})

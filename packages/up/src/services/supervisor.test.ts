import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Supervisor, type Service } from './supervisor.ts'

let folder: string
let supervisor: Supervisor
let started: ProcessIdentity[]
let restarts: string[]
let delaysMs: number[]
let served: number[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-supervisor-'))
  started = []
  restarts = []
  delaysMs = []
  served = []
  supervisor = new Supervisor(folder, {
    started: async (_, process) => void started.push(process),
    ended: async () => undefined,
    restarting: (name, how, delayMs) => {
      restarts.push(`${name}: ${how}`)
      delaysMs.push(delayMs)
    },
  })
})
afterEach(async () => {
  await supervisor.stop(['agent', 'control', 'postgres'], AbortSignal.abort())
  await rm(folder, { recursive: true })
})

async function isReady(pid: number): Promise<boolean> {
  served.push(pid)
  return true
}

function shell(script: string): Service {
  return { name: 'agent', file: '/bin/sh', args: ['-c', script], cwd: '/', isReady }
}

function readLog(): Promise<string> {
  return readFile(join(folder, 'agent.log'), 'utf8').catch(() => '')
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Deadline.after(20_000, what)
  while (!(await condition())) {
    deadline.throwIfOver()
    await delay(10)
  }
}

describe('Supervisor', () => {
  it('starts a killed service again', async () => {
    supervisor.start(shell('exec sleep 1000'))
    await until('the first start', () => started.length === 1)
    process.kill(started[0]?.pid ?? 0, 'SIGKILL')
    await until('the second start', () => started.length === 2)
    expect(restarts).toEqual(['agent: SIGKILL'])
    expect(supervisor.running('agent')).toEqual(started[1])
  })

  it('starts one soon that had served, however often it is killed', { tags: ['faults'] }, async () => {
    supervisor.start(shell('exec sleep 1000'))
    for (let kills = 1; kills <= 6; kills++) {
      await until('the next one that serves', () => served.length === kills)
      process.kill(served.at(-1) ?? 0, 'SIGKILL')
      await until('a restart', () => delaysMs.length === kills)
    }
    expect(delaysMs).toEqual([100, 200, 400, 800, 1000, 1000])
  })

  it('tells how a service ended that ended by itself', async () => {
    supervisor.start(shell('exit 3'))
    await until('a restart', () => restarts.length > 0)
    expect(restarts[0]).toBe('agent: exit code 3')
  })

  it('ends what it runs, by force when asked in vain', async () => {
    supervisor.start(shell('trap "" TERM; echo up; while :; do sleep 0.1; done'))
    await until('its first words', async () => (await readLog()) !== '')
    await supervisor.stop(['agent'], AbortSignal.abort())
    const [process] = started
    expect(process && (await isAlive(process))).toBe(false)
    expect(restarts).toEqual([])
  })

  it('keeps both outputs in the log of the service', async () => {
    supervisor.start(shell('echo out; echo err >&2; exec sleep 1000'))
    await until('the last line', async () => (await readLog()).includes('err'))
    expect(await readLog()).toBe('out\nerr\n')
  })

  it('counts a program that is not there as one that dies', async () => {
    supervisor.start({ ...shell(''), file: '/nowhere/at-all' })
    await until('a restart', () => restarts.length > 0)
    expect(restarts[0]).toContain('ENOENT')
  })
})

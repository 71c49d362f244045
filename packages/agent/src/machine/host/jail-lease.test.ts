import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { uptimeMs } from '../../store/lease/host-lease.ts'
import { eventually } from '../../test/agent-process.ts'
import { isStopped } from '../../test/process-state.ts'
import { TestJail } from '../../test/test-jail.ts'
import { launch, type LaunchedQemu } from '../vm/launch.ts'
import { endVmProcesses } from './end-vm-processes.ts'
import { leaseFileOf, parentOf } from './find-vm-processes.ts'
import { runProgram } from './run-program.ts'

/** A user id that no slot has. */
const UID = 299_997
const PROGRAM = '/usr/bin/write-times'
/** Milliseconds after the end of a lease for which control waits at least before it declares the end. */
const MARGIN_MS = 1_000
const WRITES = 20

describe.runIf(process.getuid?.() === 0)('a program that runs only during a lease', () => {
  let test: TestJail
  const started: LaunchedQemu[] = []

  beforeAll(async () => {
    test = await TestJail.open()
    const source = join(import.meta.dirname, '../../test/write-times.c')
    const program = join(test.jail.root, PROGRAM)
    const deadline = Deadline.after(50_000, 'test program')
    await runProgram('cc', ['-static', '-O1', '-Wall', '-Wextra', source, '-o', program], deadline)
  }, 60_000)
  afterEach(async () => {
    for (const { process: identity } of started.splice(0)) await endVmProcesses([{ process: identity }])
  })
  afterAll(() => test.close())

  async function place(name: string) {
    const folder = join(test.folder, name, 'vm')
    await chmod(test.folder, 0o711)
    await mkdir(folder, { recursive: true })
    await chown(folder, UID, UID)
    const lease = join(test.folder, name, 'lease')
    const start = async () => {
      const launched = await launch({
        qemu: PROGRAM,
        args: [],
        folder,
        logPath: join(test.folder, name, 'log'),
        confinement: { uid: UID, jail: test.jail, lease },
        tap: null,
        files: [],
        preload: null,
      })
      started.push(launched)
      launched.qmp.close()
      return launched
    }
    /** @returns the end of the lease */
    const renew = async (forMs: number) => {
      const endsAtMs = uptimeMs() + forMs
      await writeFile(`${lease}.new`, `${endsAtMs} boot\n`)
      await rename(`${lease}.new`, lease)
      return endsAtMs
    }
    const times = async () =>
      (await readFile(join(folder, 'times'), 'utf8').catch(() => '')).trim().split('\n').filter(Boolean).map(Number)
    /** Resolves when it has written some more. */
    const writes = async () => {
      const before = (await times()).length
      await eventually('writes', async () => (await times()).length > before + WRITES)
    }
    return { folder, lease, start, renew, times, writes }
  }

  it('writes nothing from its end to the next one, and then goes on', async () => {
    const { renew, start, times, writes } = await place('stopped')
    await renew(60_000)
    const { process: program } = await start()
    await writes()
    const endsAtMs = await renew(2_000)
    await eventually('the stop', async () => isStopped(program.pid))
    await eventually('the time of control', async () => uptimeMs() > endsAtMs + 2 * MARGIN_MS)
    const renewedAtMs = uptimeMs()
    await renew(60_000)
    await writes()
    const between = (await times()).filter((ms) => ms > endsAtMs + MARGIN_MS && ms < renewedAtMs)
    expect(between).toEqual([])
  })

  it('obeys a lease that comes after its start, and one that gets shorter', { tags: ['faults'] }, async () => {
    const { lease, renew, start, writes } = await place('later')
    const { process: program } = await start()
    await writes()
    await renew(3_600_000)
    await writes()
    await renew(2_500)
    await eventually('the stop', async () => isStopped(program.pid))
    await rm(lease)
    await writes()
    expect(await leaseFileOf({ pid: (await parentOf(program)) ?? 0 })).toBe(lease)
  })

  it('stays stopped while nobody can tell when the lease ends', async () => {
    const { lease, renew, start, writes } = await place('damaged')
    await renew(60_000)
    const { process: program } = await start()
    await writes()
    await writeFile(lease, '')
    await eventually('the stop', async () => isStopped(program.pid))
    await renew(60_000)
    await writes()
    expect(isStopped(program.pid)).toBe(false)
  })

  it('does not start after the end', async () => {
    const { folder, renew, start } = await place('ended')
    await renew(0)
    await expect(start()).rejects.toThrow('jail: lease of the host')
    expect(existsSync(join(folder, 'times'))).toBe(false)
  })

  it('ends with its launcher, also while it is stopped', { tags: ['faults'] }, async () => {
    const { renew, start } = await place('killed')
    await renew(60_000)
    const { process: program, ended } = await start()
    await renew(1_500)
    await eventually('the stop', async () => isStopped(program.pid))
    process.kill((await parentOf(program)) ?? 0, 'SIGKILL')
    expect(await ended).toMatchObject({ signal: 'SIGKILL' })
    await eventually('the end', async () => !existsSync(`/proc/${program.pid}`))
  })
})

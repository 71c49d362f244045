import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HostLease } from './host-lease.ts'

const GENERATION = 3

/** As control renews it. */
const renew = async (lease: HostLease, seconds = 30) => {
  const { challenge } = await lease.renew({ seconds, generation: 0 }, true)
  return lease.renew({ challenge: challenge ?? '', seconds, generation: GENERATION }, true)
}
const refusal = (lease: HostLease) => {
  try {
    lease.refuseIfEnded()
    return null
  } catch (error) {
    return (error as ApiError).kind
  }
}

describe("a host's lease", () => {
  let folder: string
  let nowMs: number
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-lease-'))
    nowMs = 100_000
  })
  afterEach(() => rm(folder, { recursive: true }))

  const endFile = () => join(folder, 'run', 'host.lease')
  const recordPath = () => join(folder, 'lease.json')
  const open = (options: { bootId?: string; canStop?: boolean; endFile?: string | null } = {}) =>
    HostLease.open({
      recordPath: recordPath(),
      endFile: endFile(),
      canStop: true,
      bootId: 'this-boot',
      now: () => nowMs,
      log: pino({ level: 'silent' }),
      ...options,
    })
  const file = async () => readFile(endFile(), 'utf8').catch(() => null)

  it('is not needed before the first one, and a challenge alone changes nothing', async () => {
    const lease = await open()
    expect(await lease.renew({ seconds: 30, generation: 0 }, true)).toMatchObject({ is_renewed: false })
    expect([lease.isRequired, lease.isHeld, refusal(lease), await file()]).toEqual([false, true, null, null])
  })

  it('ends by the clock of the host, and goes on when control renews it', async () => {
    const lease = await open()
    expect(await renew(lease)).toMatchObject({ is_renewed: true })
    expect(await file()).toBe('130000 this-boot\n')
    nowMs += 29_999
    expect([lease.isHeld, lease.leftMs]).toEqual([true, 1])
    nowMs += 1
    expect([lease.isHeld, refusal(lease)]).toEqual([false, 'leaseEnded'])
    expect(lease.state(2)).toEqual({ is_required: true, left_ms: 0, generation: GENERATION, stopped_vms: 2 })
    await renew(lease)
    expect([lease.isHeld, refusal(lease), lease.state(2).stopped_vms]).toEqual([true, null, 0])
  })

  it('outlives the agent process, and does not outlive a boot', async () => {
    await renew(await open())
    nowMs += 10_000
    const next = await open()
    expect([next.isRequired, next.leftMs, next.state(0).generation]).toEqual([true, 20_000, GENERATION])
    const rebooted = await open({ bootId: 'another-boot' })
    expect([rebooted.isRequired, rebooted.isHeld, await file()]).toEqual([true, false, '0 another-boot\n'])
  })

  it('has ended if a power cut took the file', async () => {
    await renew(await open())
    await rm(endFile())
    expect([(await open()).isHeld, await file()]).toEqual([false, '0 this-boot\n'])
  })

  it('leaves no file when its VMs are gone, and has ended at the next start', async () => {
    const lease = await open()
    await renew(lease)
    await lease.removeFile()
    await lease.removeFile()
    expect(await file()).toBe(null)
    expect([(await open()).isRequired, (await open()).isHeld]).toEqual([true, false])
    await (await open({ endFile: null })).removeFile()
  })

  it('has ended if nobody can tell whether one is needed', async () => {
    await writeFile(recordPath(), 'damaged')
    expect((await open()).isHeld).toBe(false)
  })

  it('is not taken by an agent that could not stop every database', async () => {
    const without = await open({ canStop: false })
    expect(await without.renew({ seconds: 30, generation: 0 }, true)).toEqual({ challenge: null, is_renewed: false })
    const lease = await open()
    const { challenge } = await lease.renew({ seconds: 30, generation: 0 }, true)
    const renewal = { challenge: challenge ?? '', seconds: 30, generation: 1 }
    expect(await lease.renew(renewal, false)).toEqual({ challenge: null, is_renewed: false })
    expect(lease.isRequired).toBe(false)
    const none = await open({ endFile: null })
    expect([none.file, await none.renew(renewal, true)]).toEqual([null, { challenge: null, is_renewed: false }])
  })

  it('is not needed any more after control has given it up', async () => {
    const lease = await open()
    await renew(lease)
    nowMs += 60_000
    await lease.giveUp()
    expect([lease.isRequired, lease.isHeld, await file()]).toEqual([false, true, null])
    expect((await open()).isRequired).toBe(false)
    await renew(lease)
    expect((await open()).isRequired).toBe(true)
  })
})

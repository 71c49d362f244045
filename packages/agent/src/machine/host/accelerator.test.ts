import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Choice, chooseAccelerator, type KvmResult } from './accelerator.ts'

const WORKS: KvmResult = { works: true, cpu: 'Broadwell-v2' }
const FAILS: KvmResult = { works: false, reason: 'no luck', isTimeout: false }
const HANGS: KvmResult = { works: false, reason: 'it hangs', isTimeout: true }

let path: string
let probes: (string | null)[]
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'offshoot-accelerator-')), 'accelerator.json')
  probes = []
})
afterEach(() => rm(join(path, '..'), { recursive: true, force: true }))

/** As the real one, which compiles a program for it: what is known stays. */
const measure = async (known: number | undefined) => known ?? 2_600_000

function choose(result: KvmResult, choice: Partial<Choice> = {}) {
  const probe = async (lastCpu: string | null) => {
    probes.push(lastCpu)
    return result
  }
  return chooseAccelerator({ path, measure, tried: 'this', wanted: 'auto', retriesFailure: false, probe, ...choice })
}

/** As if the host had been booted since. */
async function reboot(): Promise<void> {
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), boot_id: 'earlier' }))
}

describe('the accelerator', () => {
  it('is KVM where the probe says so, which is asked once per boot of the host', async () => {
    const chosen = await choose(WORKS)
    expect(chosen).toMatchObject({ accelerator: 'kvm', reason: null, cpu: 'Broadwell-v2' })
    expect(await choose(FAILS)).toEqual(chosen)
    expect(probes).toEqual([null])
    await reboot()
    expect(await choose(FAILS)).toMatchObject({ accelerator: 'tcg', cpu: null })
    // The CPU that guests have had so far is the one to prefer.
    expect(probes).toEqual([null, 'Broadwell-v2'])
  })

  it('is TCG with the reason where it does not, and the reason is kept', async () => {
    expect(await choose(FAILS)).toMatchObject({ accelerator: 'tcg', reason: 'no luck', cpu: null })
    expect(await choose(WORKS)).toMatchObject({ accelerator: 'tcg', reason: 'no luck' })
    expect(probes).toHaveLength(1)
  })

  it('is asked for again when something else is to be tried', async () => {
    await choose(FAILS)
    expect(await choose(WORKS, { tried: 'that' })).toMatchObject({ accelerator: 'kvm' })
  })

  it('is asked for again after a failure by who says so, but for one that took a timeout', async () => {
    await choose(FAILS)
    expect(await choose(HANGS, { retriesFailure: true })).toMatchObject({ reason: 'it hangs' })
    expect(await choose(WORKS, { retriesFailure: true })).toMatchObject({ reason: 'it hangs' })
    expect(await choose(WORKS, { retriesFailure: true, wanted: 'kvm' })).toMatchObject({ accelerator: 'kvm' })
    expect(probes).toHaveLength(3)
  })

  it('is TCG for who asks for that, without a probe, and a probe follows when nobody does any more', async () => {
    expect(await choose(WORKS, { wanted: 'tcg' })).toMatchObject({
      accelerator: 'tcg',
      reason: 'software emulation was asked for',
    })
    expect(probes).toEqual([])
    expect(await choose(WORKS)).toMatchObject({ accelerator: 'kvm' })
  })

  it('keeps the measured speed of the counter over results of earlier versions', async () => {
    const earlier = { boot_id: 'x', accelerator: 'tcg', tsc_khz: 3_000_000, tried: 'this' }
    await writeFile(path, JSON.stringify(earlier))
    expect(await choose(WORKS)).toMatchObject({ accelerator: 'kvm', tscKhz: 3_000_000 })
  })
})

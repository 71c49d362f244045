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

/** Like the real function, which compiles a program: a known value stays. */
const measure = async (known: number | undefined) => known ?? 2_600_000

function choose(result: KvmResult, choice: Partial<Choice> = {}) {
  const probe = async (lastCpu: string | null) => {
    probes.push(lastCpu)
    return result
  }
  return chooseAccelerator({ path, measure, tried: 'this', wanted: 'auto', retriesFailure: false, probe, ...choice })
}

/** Simulates a boot of the host. */
async function reboot(): Promise<void> {
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), boot_id: 'earlier' }))
}

describe('the accelerator', () => {
  it('is KVM if the probe succeeds, which runs once per boot of the host', async () => {
    const chosen = await choose(WORKS)
    expect(chosen).toMatchObject({ accelerator: 'kvm', reason: null, cpu: 'Broadwell-v2' })
    expect(await choose(FAILS)).toEqual(chosen)
    expect(probes).toEqual([null])
    await reboot()
    expect(await choose(FAILS)).toMatchObject({ accelerator: 'tcg', cpu: null })
    // The existing guests' CPU model is preferred.
    expect(probes).toEqual([null, 'Broadwell-v2'])
  })

  it('is TCG if the probe fails, and the reason is stored', async () => {
    expect(await choose(FAILS)).toMatchObject({ accelerator: 'tcg', reason: 'no luck', cpu: null })
    expect(await choose(WORKS)).toMatchObject({ accelerator: 'tcg', reason: 'no luck' })
    expect(probes).toHaveLength(1)
  })

  it('is probed again if QEMU, kernel, device or settings change', async () => {
    await choose(FAILS)
    expect(await choose(WORKS, { tried: 'that' })).toMatchObject({ accelerator: 'kvm' })
  })

  it('is probed again after a failure on request, except after a timeout', async () => {
    await choose(FAILS)
    expect(await choose(HANGS, { retriesFailure: true })).toMatchObject({ reason: 'it hangs' })
    expect(await choose(WORKS, { retriesFailure: true })).toMatchObject({ reason: 'it hangs' })
    expect(await choose(WORKS, { retriesFailure: true, wanted: 'kvm' })).toMatchObject({ accelerator: 'kvm' })
    expect(probes).toHaveLength(3)
  })

  it('is TCG without a probe if the settings say so, and is probed once they no longer do', async () => {
    expect(await choose(WORKS, { wanted: 'tcg' })).toMatchObject({
      accelerator: 'tcg',
      reason: 'software emulation was asked for',
    })
    expect(probes).toEqual([])
    expect(await choose(WORKS)).toMatchObject({ accelerator: 'kvm' })
  })

  it('keeps the measured frequency of the counter from results of earlier versions', async () => {
    const earlier = { boot_id: 'x', accelerator: 'tcg', tsc_khz: 3_000_000, tried: 'this' }
    await writeFile(path, JSON.stringify(earlier))
    expect(await choose(WORKS)).toMatchObject({ accelerator: 'kvm', tscKhz: 3_000_000 })
  })
})

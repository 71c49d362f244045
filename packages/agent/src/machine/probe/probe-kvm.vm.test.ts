import { readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findVmProcesses } from '../host/find-vm-processes.ts'
import { FailingQemu, wordsAt } from '../../test/failing-qemu.ts'
import { VmHost } from '../../test/vm-host.ts'
import type { BakePlace } from '../bakes/bakes.ts'
import { Images } from '../../store/bakes/images.ts'
import { PROBE_LIMITS, probeMachine, type Probe } from './probe-kvm.ts'

/** OFFSHOOT_PROBE_STEPS=all runs a failing QEMU for each step, with a bake for each. */
const isAll = process.env['OFFSHOOT_PROBE_STEPS'] === 'all'

let host: VmHost
let qemu: FailingQemu
let probe: Probe
beforeAll(async () => {
  // The jail's root contains no other QEMU.
  host = await VmHost.open(undefined, undefined, false)
  qemu = await FailingQemu.make(host.qemu.path)
  const place: BakePlace = { confinement: { uid: host.uid, diesWithAgent: true }, tap: null }
  probe = {
    qemu: qemu.path,
    preload: host.dir.preload,
    // The probe is the same under each accelerator.
    machine: host.baked.machine,
    cpu: null,
    lastCpu: null,
    images: new Images(process.env['OFFSHOOT_IMAGES_DIR'] ?? ''),
    image: host.baked.image,
    folder: host.dir.probe,
    places: [place, place],
    // Time limits for emulation on a shared machine.
    limits: { bootMs: PROBE_LIMITS.bootMs * 6, stepMs: PROBE_LIMITS.stepMs * 3 },
    threads: host.captureThreads,
  }
})
afterAll(async () => {
  await qemu?.remove()
  await host?.close()
})

async function expectNothingLeft(): Promise<void> {
  expect(await readdir(host.dir.root)).not.toContain('probe')
  expect(await findVmProcesses(join(await realpath(host.dir.root), 'probe'))).toEqual([])
}

describe('the probe of an accelerator', () => {
  it('runs all steps of a guest’s life and leaves nothing behind', { tags: ['long'] }, async () => {
    await qemu.failAt(-1, 'never')
    expect(await probeMachine(probe)).toEqual({ works: true, machine: probe.machine })
    await expectNothingLeft()
  })

  it.each(
    [
      { step: 'boot', launch: 1, moment: 'start', isQuick: true },
      { step: 'bake', launch: 1, moment: 'xen-save-devices-state' },
      { step: 'restore', launch: 2, moment: 'start' },
      { step: 'second restore', launch: 3, moment: 'start' },
      { step: 'fork', launch: 2, moment: 'blockdev-snapshot' },
      { step: 'fork', launch: 4, moment: 'start' },
      { step: 'hibernate', launch: 2, moment: 'stop', time: 2 },
      { step: 'wake', launch: 5, moment: 'start' },
    ].filter(({ isQuick }) => isQuick === true || isAll),
  )('names the step "$step" and quotes QEMU, whose launch $launch fails at $moment', async (failing) => {
    await qemu.failAt(failing.launch, failing.moment, failing.time)
    expect(await probeMachine(probe)).toEqual({
      works: false,
      step: failing.step,
      reason: expect.stringContaining(wordsAt(failing.moment)),
      isTimeout: false,
    })
    await expectNothingLeft()
  })

  it('reports a guest that does not boot in time', async () => {
    await qemu.failAt(1, 'hang')
    const limits = { ...PROBE_LIMITS, bootMs: 500 }
    expect(await probeMachine({ ...probe, limits })).toMatchObject({ step: 'boot', isTimeout: true })
    await expectNothingLeft()
  })
})

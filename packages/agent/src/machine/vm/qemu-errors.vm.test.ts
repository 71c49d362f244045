/** @module-tag long */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FailingQemu, wordsAt } from '../../test/failing-qemu.ts'
import { VmHost } from '../../test/vm-host.ts'
import { bake } from '../bakes/bake.ts'
import { releaseGuest } from '../guest/hold.ts'
import { Images } from '../../store/bakes/images.ts'
import { prepareGuest } from '../bakes/prepare-guest.ts'
import { restore } from '../restore/restore.ts'

let host: VmHost
let qemu: FailingQemu
beforeAll(async () => {
  // The jail's root contains no other QEMU.
  host = await VmHost.open(undefined, undefined, false)
  qemu = await FailingQemu.make(host.qemu.path)
})
afterAll(async () => {
  await qemu?.remove()
  await host?.close()
})

async function bakeAnew(deadline: Deadline): Promise<void> {
  const { machine, image } = host.baked
  const folder = join(host.dir.bakes, image.name, 'failing')
  const place = { confinement: { uid: host.uid }, tap: null }
  const images = new Images(process.env['OFFSHOOT_IMAGES_DIR'] ?? '')
  const options = { qemu: qemu.path, machine, image, images, folder, fingerprint: 'failing', prepare: prepareGuest }
  try {
    await bake({ ...options, ...place }, deadline)
  } finally {
    await expect(access(folder)).rejects.toThrow('ENOENT')
  }
}

async function restoreAnew(deadline: Deadline): Promise<void> {
  const place = { ...(await host.restoreOptions()), confinement: { uid: host.uid } }
  const options = { ...place, qemu: qemu.path, checkpoint: null, greet: releaseGuest }
  const vm = await restore(options, deadline)
  await vm.kill(deadline)
}

describe("QEMU's last log lines", () => {
  it.each([
    ['bake', 'start', bakeAnew],
    ['bake', 'qmp_capabilities', bakeAnew],
    ['bake', 'xen-save-devices-state', bakeAnew],
    ['restore', 'start', restoreAnew],
    ['restore', 'qmp_capabilities', restoreAnew],
  ])('are in the error of a %s whose QEMU ends at %s', async (_what, moment, run) => {
    await qemu.failAt(1, moment)
    await expect(run(host.deadline)).rejects.toThrow(wordsAt(moment))
  })

  it.each([
    ['bake', bakeAnew],
    ['restore', restoreAnew],
  ])('are in the error of a %s whose QEMU hangs', async (_what, run) => {
    await qemu.failAt(1, 'hang')
    const error = { name: 'DeadlineExceeded', message: expect.stringContaining(wordsAt('hang')) }
    await expect(run(Deadline.after(1000, 'a QEMU that hangs'))).rejects.toMatchObject(error)
  })
})

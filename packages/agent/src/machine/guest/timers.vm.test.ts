import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { VmHost } from '../../test/vm-host.ts'
import { sectionsOf } from '../vm/device-state.ts'

/** The interval timer in a device state, and the place of its first counter's mode in that section (QEMU, hw/timer/i8254_common.c). */
const TIMER = 'i8254'
const MODE_AT = 36
/** The mode that counts once; all others count again and again. */
const ONCE = 0

let host: VmHost
beforeAll(async () => {
  host = await VmHost.open()
})
afterAll(() => host.close())

it('the interval timer of a guest stands still, because QEMU would wake for it many times a second', async () => {
  const sections = sectionsOf(await readFile(bakeFiles(host.baked.folder).state))
  expect(sections.find(({ name }) => name === TIMER)?.bytes[MODE_AT]).toBe(ONCE)
  const vm = await host.start()
  expect(await host.sh(vm, 'cat /proc/sys/vm/stat_interval /proc/sys/vm/compaction_proactiveness')).toBe('10\n0')
  await host.end(vm)
})

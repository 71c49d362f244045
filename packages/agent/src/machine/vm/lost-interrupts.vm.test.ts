import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkpointFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { VmHost } from '../../test/vm-host.ts'
import { sectionsOf, stateOf } from './device-state.ts'
import { requestLostInterrupts } from './lost-interrupts.ts'

/** Bits of an entry in the table of an I/O APIC. */
const REMOTE_IRR = 1n << 14n
const LEVEL = 1n << 15n
const LEVEL_AND_MASKED = LEVEL | (1n << 16n)

let host: VmHost
beforeAll(async () => {
  host = await VmHost.open()
})
afterAll(() => host.close())

/** A state in which the I/O APICs wait for the end of an interrupt of each device. The guest has ended all of them. */
function withEndedInterrupts(state: Buffer): Buffer {
  const sections = sectionsOf(Buffer.from(state))
  for (const { bytes } of sections.filter(({ name }) => name === 'ioapic')) {
    for (let at = 14 + 'ioapic'.length + 14; at + 8 < bytes.length; at += 8) {
      const entry = bytes.readBigUInt64BE(at)
      if ((entry & LEVEL_AND_MASKED) === LEVEL) bytes.writeBigUInt64BE(entry | REMOTE_IRR, at)
    }
  }
  return stateOf(sections)
}

it('lets the devices interrupt a restored guest that had ended interrupts without the I/O APIC knowing it', async () => {
  const vm = await host.start()
  const captured = await host.capture(vm, 'ended-interrupts')
  await host.end(vm)
  const { state } = checkpointFiles(captured.folder)
  const waiting = withEndedInterrupts(await readFile(state))
  const repaired = requestLostInterrupts(waiting)
  expect(repaired.equals(waiting)).toBe(false)
  await writeFile(state, repaired)
  const child = await host.start(captured)
  for (const text of ['first', 'second', 'third'])
    expect(
      await host.sh(child, `dd if=/dev/vda of=/dev/null bs=4096 count=1 iflag=direct 2>/dev/null && echo ${text}`),
    ).toBe(text)
  await host.end(child)
})

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { memoryFiles, type MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { distinctPages } from '../../test/distinct-pages.ts'
import { VmHost } from '../../test/vm-host.ts'
import { continueReleased, releaseGuest, stopHeld } from '../guest/hold.ts'
import type { Vm } from '../vm/vm.ts'
import type { Captured } from './capture.ts'

const MIB = 1024 * 1024
const MEMORY_MIB = 192
/** With what a guest writes at its start, more than the least that is kept. */
const LARGE_MIB = 40

const fill = (name: string, mib: number) => distinctPages(`/run/t/${name}`, mib)
/**
 * A process that writes all the time. It writes a round into one of 64 files, and checks that the oldest of them has the round of
 * its last write, so that it sees a page that has an earlier content again.
 */
const WRITER = `(i=0; while :; do i=$((i + 1)); echo $i > /run/w/$((i % 64)); read old < /run/w/$(((i + 1) % 64))
  [ $i -lt 64 ] || [ "$old" = $((i - 63)) ] || echo "$old in round $i" >> /run/w/wrong
  [ $((i % 64)) -gt 0 ] || echo >> /run/w/rounds; done) > /dev/null 2>&1 & touch /run/w/wrong`

const layers = ({ folder, bases }: Captured) => memoryFiles(folder, bases)

describe('the memory of a large guest that was captured', () => {
  let host: VmHost
  let vm: Vm
  let sums: string

  beforeAll(async () => {
    host = await VmHost.open(MEMORY_MIB)
  })
  afterAll(() => host.close())

  beforeEach(async () => {
    vm = await host.start()
    await host.sh(vm, `mkdir -p /run/t && mount -t tmpfs -o size=100% none /run/t; ${fill('large', LARGE_MIB)}`)
    sums = await sumsOf(vm)
  })
  afterEach(() => host.end(vm))

  const sumsOf = (of: Vm) => host.sh(of, 'md5sum /run/t/*')

  /** A capture that QEMU keeps, with the layers that it has kept of an earlier one as bases. */
  async function capture(name: string, offered: readonly MemoryFiles[] = []) {
    const captured = await host.capture(vm, name, { keepsMemory: true, bases: Promise.resolve(offered) })
    await host.checkpoints.bases.link(offered.slice(0, captured.bases), captured.folder)
    return captured
  }

  async function expectChild(captured: Captured, expected: string) {
    const child = await host.start(captured)
    expect(await sumsOf(child)).toBe(expected)
    await host.end(child)
  }

  it('is written once: later captures write what has changed since, and each has all of it', async () => {
    const first = await capture('first')
    expect(first).toMatchObject({ isKept: true, bases: 0 })
    expect(first.memoryBytes).toBeGreaterThan(LARGE_MIB * MIB)
    await host.sh(vm, fill('second', 8))
    const secondSums = await sumsOf(vm)

    const second = await capture('second', layers(first))
    expect(second).toMatchObject({ isKept: true, bases: 1 })
    expect(second.memoryBytes).toBeLessThan(first.memoryBytes / 2)
    // In the place of what QEMU has mapped from the first.
    await host.sh(vm, `${fill('large', LARGE_MIB)}; rm /run/t/second`)
    const thirdSums = await sumsOf(vm)

    const third = await capture('third', layers(second))
    expect(third.isKept).toBe(true)
    await expectChild(first, sums)
    await expectChild(second, secondSums)
    await expectChild(third, thirdSums)
    expect(await sumsOf(vm)).toBe(thirdSums)
  })

  it('is kept of a durable guest, which goes on while it is copied', { tags: ['faults'] }, async () => {
    await host.end(vm)
    vm = await host.start(null, releaseGuest, [], true)
    await host.sh(vm, `mkdir -p /run/t /run/w && mount -t tmpfs -o size=100% none /run/t; ${WRITER}`)
    const captures: { readonly captured: Captured; readonly sums: string }[] = []
    for (const round of [0, 1]) {
      await host.sh(vm, fill(`large-${round}`, LARGE_MIB))
      const last = captures.at(-1)?.captured
      const captured = await capture(`durable-${round}`, last === undefined ? [] : layers(last))
      expect(captured).toMatchObject({ isKept: true, bases: round })
      expect(captured.memoryBytes).toBeLessThan(1.6 * LARGE_MIB * MIB)
      captures.push({ captured, sums: await sumsOf(vm) })
    }
    for (const { captured, sums } of captures) await expectChild(captured, sums)
    expect(await host.sh(vm, 'cat /run/w/wrong; wc -l < /run/w/rounds')).toMatch(/^[1-9]\d*$/)
  })

  it('is kept of a stopped guest, too, and written anew if nobody offers it', { tags: ['faults'] }, async () => {
    await stopHeld(vm, host.deadline)
    expect((await capture('of-a-stopped')).isKept).toBe(true)
    await continueReleased(vm, host.deadline)
    const second = await host.capture(vm, 'not-offered')
    expect(second).toMatchObject({ isKept: false, bases: 0 })
    expect(second.memoryBytes).toBeGreaterThan(LARGE_MIB * MIB)
    await expectChild(second, sums)
  })
})

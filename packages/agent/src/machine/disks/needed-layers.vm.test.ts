import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VmHost } from '../../test/vm-host.ts'

const MOST_CAPTURES = 20
let host: VmHost
beforeAll(async () => {
  host = await VmHost.open()
})
afterAll(() => host.close())

describe('a checkpoint', () => {
  it('names no layer below the last to which its guest has written nothing', async () => {
    const vm = await host.start()
    await host.sh(vm, 'echo first > /root/first; sync')
    const written = await host.capture(vm, 'written')
    // The guest may still write by itself, for example its journal.
    for (let i = 0; vm.emptyLayers.size === 0 && i < MOST_CAPTURES; i++) await host.capture(vm, `unwritten-${i}`)
    expect(vm.emptyLayers.size).toBeGreaterThan(0)
    await host.sh(vm, 'echo second > /root/second; sync')
    const last = await host.capture(vm, 'last')
    const all = vm.disk?.layers ?? []
    expect(last.layers).toEqual(all.filter((id) => !vm.emptyLayers.has(id)))
    expect(last.layers).toEqual(expect.arrayContaining([...written.layers]))
    const child = await host.start(last)
    expect(child.disk?.layers).toEqual(last.layers)
    // Also what the child does not have in its memory.
    expect(await host.sh(child, 'echo 3 > /proc/sys/vm/drop_caches; cat /root/first /root/second')).toBe(
      'first\nsecond',
    )
    for (const each of [vm, child]) await host.end(each)
  })
})

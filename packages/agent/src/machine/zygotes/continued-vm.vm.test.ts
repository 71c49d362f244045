import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { VmHost } from '../../test/vm-host.ts'
import { PATCH_PROGRAM, RUN_PROGRAM, ZygoteHost } from '../../test/zygote-host.ts'
import { captureDisk } from '../capture/capture.ts'
import { releaseGuest } from '../guest/hold.ts'
import { MAX_LAYERS } from '../../store/disks/disk-chain.ts'
import { flatten } from '../disks/flatten.ts'
import { openDescriptors } from '../vm/open-descriptors.ts'

/** Bytes of a guest's disk and memory that the test changes. */
const DATA_BYTES = 6 * 1024 * 1024
/** Its machine has a gap between its memory, for devices. */
const LARGE_MIB = 4096

let zygotes: ZygoteHost
let host: VmHost
beforeAll(async () => {
  zygotes = await ZygoteHost.open(DATA_BYTES)
  host = zygotes.host
})
afterAll(() => zygotes.close())

describe('a copy of a zygote that continues another VM', () => {
  it('has that one’s memory, processes and disk, and nothing of the zygote’s', async () => {
    const parent = await host.start()
    await host.sh(
      parent,
      `head -c ${DATA_BYTES} /dev/urandom > /run/memory; echo disk > /root/disk; setsid sleep 1000 > /dev/null 2>&1 &`,
    )
    const sum = await host.sh(parent, 'md5sum < /run/memory')
    const captured = await host.capture(parent, 'first')
    for (const copy of [await zygotes.continued(captured), await zygotes.continued(captured)]) {
      expect(await host.sh(copy, 'md5sum < /run/memory; cat /root/disk; pidof sleep | wc -w')).toBe(`${sum}\ndisk\n1`)
      expect(await host.sh(copy, 'ls /root /run | grep of-zygote || echo none')).toBe('none')
      await host.sh(copy, 'dmesg | grep -E "BUG:|Oops:|Call Trace" && exit 1; echo own > /root/disk; sync')
      await copy.kill(host.deadline)
    }
    expect(await host.sh(parent, 'cat /root/disk')).toBe('disk')
    await host.end(parent)
  })

  it('can itself be captured and continued, by a copy and by a QEMU that is started', async () => {
    const parent = await host.start()
    await host.sh(parent, 'echo one > /run/one; echo one > /root/one')
    const child = await zygotes.continued(await host.capture(parent, 'of-parent'))
    await host.sh(child, 'echo two > /run/two; echo two > /root/two')
    const captured = await host.capture(child, 'of-child')
    const seen = 'cat /run/one /root/one /run/two /root/two'
    for (const vm of [await zygotes.continued(captured), await host.start(captured)]) {
      expect(await host.sh(vm, seen)).toBe('one\none\ntwo\ntwo')
      await vm.kill(host.deadline)
    }
    await child.kill(host.deadline)
    await host.end(parent)
  })

  it('continues a copy of the same zygote, which has written little of what the zygote has', async () => {
    const parent = await zygotes.copied()
    const sum = await host.sh(parent, 'rm -f /root/of-zygote; echo own > /root/own; md5sum < /run/of-zygote')
    const child = await zygotes.continued(await host.capture(parent, 'of-copy'))
    expect(await host.sh(child, 'md5sum < /run/of-zygote; cat /root/own; ls /root')).toBe(`${sum}\nown\nown`)
    for (const vm of [child, parent]) await vm.kill(host.deadline)
  })

  it('runs the code of the VM that it continues, not what the zygote has translated of the same page', async () => {
    const parent = await zygotes.copied()
    expect(await host.sh(parent, RUN_PROGRAM)).toBe('1')
    expect(await host.sh(parent, `${PATCH_PROGRAM}; ${RUN_PROGRAM}`)).toBe('2')
    const child = await zygotes.continued(await host.capture(parent, 'of-patched'))
    expect(await host.sh(child, RUN_PROGRAM)).toBe('2')
    for (const vm of [child, parent]) await vm.kill(host.deadline)
  })

  it('keeps only its own files: no state, no disk of the zygote, and after a flattening no layer', async () => {
    const parent = await host.start()
    await host.sh(parent, 'echo disk > /root/disk; sync')
    const child = await zygotes.continued(await host.capture(parent, 'files'))
    expect((await readdir(child.folder)).filter((name) => !name.endsWith('.qcow2'))).toEqual(['console.log'])
    const ofZygote = zygotes.zygote.layers.map((id) => `${id}.qcow2`)
    const names = async () => [...new Set((await openDescriptors(child.process)).map(({ name }) => name))]
    expect((await names()).filter((name) => ofZygote.some((file) => name.endsWith(file)))).toEqual([])
    expect((await names()).filter((name) => name.includes('/layers/'))).toHaveLength(1)
    await flatten(child, host.deadline)
    expect((await names()).filter((name) => name.includes('/layers/'))).toEqual([])
    expect(await host.sh(child, 'cat /root/disk')).toBe('disk')
    await child.kill(host.deadline)
    await host.end(parent)
  })

  it('leaves no process behind if the state makes no sense, and its zygote makes others', async () => {
    const parent = await host.start()
    const captured = await host.capture(parent, 'damaged')
    const copy = await zygotes.copyFor(captured)
    const cut = join(host.dir.root, 'cut')
    await writeFile(cut, 'no state')
    await expect(copy.load(cut, releaseGuest, host.deadline)).rejects.toThrow('no device state')
    expect(copy.vm.hasEnded).toBe(true)
    await (await zygotes.continued(captured)).kill(host.deadline)
    await host.end(parent)
  })

  it('has as many layers as a disk can have', async () => {
    const parent = await host.start()
    for (let at = 1; at < MAX_LAYERS; at++) {
      const place = { bake: host.baked.folder, uid: host.uid, layers: host.layers }
      await host.sh(parent, `echo ${at} > /root/layer-${at % 4}; sync`)
      await captureDisk(parent, place, host.deadline)
    }
    const captured = await host.capture(parent, 'many')
    expect(captured.layers).toHaveLength(MAX_LAYERS)
    const child = await zygotes.continued(captured)
    expect(await host.sh(child, 'echo 3 > /proc/sys/vm/drop_caches; cat /root/layer-*')).toBe('60\n61\n62\n63')
    await child.kill(host.deadline)
    await host.end(parent)
  })

  it('has no more layers than there are places for', async () => {
    const many = Array.from({ length: MAX_LAYERS + 1 }, () => '/dev/null')
    const child = zygotes.zygote.forkToContinue(await host.restoreOptions(), { memory: [], disk: many }, host.deadline)
    await expect(child).rejects.toThrow('more layers')
  })
})

describe('a copy of a zygote with more than 3 GiB of memory', () => {
  let large: ZygoteHost
  beforeAll(async () => {
    large = await ZygoteHost.open(DATA_BYTES, LARGE_MIB)
  })
  afterAll(() => large.close())

  it('has the memory of the VM that it continues, and runs its code', async () => {
    const parent = await large.copied()
    const fill = `head -c ${DATA_BYTES} /dev/urandom > /run/memory; md5sum < /run/memory`
    const sum = await large.host.sh(parent, `${PATCH_PROGRAM}; ${fill}`)
    const child = await large.continued(await large.host.capture(parent, 'large'))
    expect(await large.host.sh(child, `md5sum < /run/memory; ${RUN_PROGRAM}`)).toBe(`${sum}\n2`)
    expect(await large.host.sh(parent, RUN_PROGRAM)).toBe('2')
    for (const vm of [child, parent]) await vm.kill(large.host.deadline)
  })
})

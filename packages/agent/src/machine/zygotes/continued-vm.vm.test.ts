import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkpointFiles, memoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { EXIT_CODE_AT, exitingProgram } from '../../test/exiting-program.ts'
import { VmHost } from '../../test/vm-host.ts'
import { captureDisk, type Captured } from '../capture/capture.ts'
import { continueReleased, releaseGuest } from '../guest/hold.ts'
import { MAX_LAYERS } from '../../store/disks/disk-chain.ts'
import { flatten } from '../disks/flatten.ts'
import { openDescriptors } from '../vm/open-descriptors.ts'
import type { Vm } from '../vm/vm.ts'
import { ContinuedVm } from './continued-vm.ts'
import { Zygote } from './zygote.ts'

/** Bytes of a guest's disk and memory that the test changes. */
const DATA_BYTES = 6 * 1024 * 1024

let host: VmHost
let zygote: Zygote
beforeAll(async () => {
  host = await VmHost.open()
  const options = { ...(await host.restoreOptions()), layers: host.layers, greet: releaseGuest }
  const prepare = async (vm: Vm) => {
    await host.sh(vm, `echo zygote > /root/of-zygote; head -c ${DATA_BYTES} /dev/urandom > /run/of-zygote; sync`)
    const program = exitingProgram(1).toString('base64')
    await host.sh(vm, `echo ${program} | base64 -d > /run/program; chmod +x /run/program; /run/program; [ $? = 1 ]`)
  }
  zygote = await Zygote.start(options, prepare, host.deadline)
})
afterAll(async () => {
  await zygote.end(host.deadline)
  await host.close()
})

/** A copy of the zygote that runs. */
async function copied(): Promise<Vm> {
  const vm = await zygote.fork(await host.restoreOptions(), host.deadline)
  await continueReleased(vm, host.deadline)
  return vm
}

/** A copy of the zygote that continues what was captured. */
async function continued({ folder, layers, bases }: Captured): Promise<Vm> {
  const options = await host.restoreOptions()
  const disk = layers.map((id) => ({ id, file: host.layers.path(id) }))
  const copy = await ContinuedVm.start({ ...options, zygote, memory: memoryFiles(folder, bases), disk }, host.deadline)
  await copy.load(checkpointFiles(folder).state, releaseGuest, host.deadline)
  return copy.vm
}

describe('a copy of a zygote that continues another VM', () => {
  it('has that one’s memory, processes and disk, and nothing of the zygote’s', async () => {
    const parent = await host.start()
    await host.sh(
      parent,
      `head -c ${DATA_BYTES} /dev/urandom > /run/memory; echo disk > /root/disk; setsid sleep 1000 > /dev/null 2>&1 &`,
    )
    const sum = await host.sh(parent, 'md5sum < /run/memory')
    const captured = await host.capture(parent, 'first')
    for (const copy of [await continued(captured), await continued(captured)]) {
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
    const child = await continued(await host.capture(parent, 'of-parent'))
    await host.sh(child, 'echo two > /run/two; echo two > /root/two')
    const captured = await host.capture(child, 'of-child')
    const seen = 'cat /run/one /root/one /run/two /root/two'
    for (const vm of [await continued(captured), await host.start(captured)]) {
      expect(await host.sh(vm, seen)).toBe('one\none\ntwo\ntwo')
      await vm.kill(host.deadline)
    }
    await child.kill(host.deadline)
    await host.end(parent)
  })

  it('continues a copy of the same zygote, which has written little of what the zygote has', async () => {
    const parent = await copied()
    const sum = await host.sh(parent, 'rm -f /root/of-zygote; echo own > /root/own; md5sum < /run/of-zygote')
    const child = await continued(await host.capture(parent, 'of-copy'))
    expect(await host.sh(child, 'md5sum < /run/of-zygote; cat /root/own; ls /root')).toBe(`${sum}\nown\nown`)
    for (const vm of [child, parent]) await vm.kill(host.deadline)
  })

  it('runs the code of the VM that it continues, not what the zygote has translated of the same page', async () => {
    const parent = await copied()
    expect(await host.sh(parent, '/run/program; echo $?')).toBe('1')
    // In its place: the page cache keeps the page.
    const patch = `printf '\\002' | dd of=/run/program bs=1 seek=${EXIT_CODE_AT} conv=notrunc 2> /dev/null`
    expect(await host.sh(parent, `${patch}; /run/program; echo $?`)).toBe('2')
    const child = await continued(await host.capture(parent, 'of-patched'))
    expect(await host.sh(child, '/run/program; echo $?')).toBe('2')
    for (const vm of [child, parent]) await vm.kill(host.deadline)
  })

  it('keeps only its own files: no state, no disk of the zygote, and after a flattening no layer', async () => {
    const parent = await host.start()
    await host.sh(parent, 'echo disk > /root/disk; sync')
    const child = await continued(await host.capture(parent, 'files'))
    expect((await readdir(child.folder)).filter((name) => !name.endsWith('.qcow2'))).toEqual(['console.log'])
    const ofZygote = zygote.layers.map((id) => `${id}.qcow2`)
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
    const options = await host.restoreOptions()
    const disk = captured.layers.map((id) => ({ id, file: host.layers.path(id) }))
    const memory = memoryFiles(captured.folder, captured.bases)
    const copy = await ContinuedVm.start({ ...options, zygote, memory, disk }, host.deadline)
    const cut = join(host.dir.root, 'cut')
    await writeFile(cut, 'no state')
    await expect(copy.load(cut, releaseGuest, host.deadline)).rejects.toThrow('no device state')
    expect(copy.vm.hasEnded).toBe(true)
    await (await continued(captured)).kill(host.deadline)
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
    const child = await continued(captured)
    expect(await host.sh(child, 'echo 3 > /proc/sys/vm/drop_caches; cat /root/layer-*')).toBe('60\n61\n62\n63')
    await child.kill(host.deadline)
    await host.end(parent)
  })

  it('has no more layers than there are places for', async () => {
    const many = Array.from({ length: MAX_LAYERS + 1 }, () => '/dev/null')
    const child = zygote.forkToContinue(await host.restoreOptions(), { memory: [], disk: many }, host.deadline)
    await expect(child).rejects.toThrow('more layers')
  })
})

import { copyFile, mkdir, readdir, readFile, readlink, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { identifyProcess } from '@offshoot/kit/process-identity'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { flatten, FlattenStopped, stopFlattening } from '../disks/flatten.ts'
import { runProgram } from '../host/run-program.ts'
import { VmHost } from '../../test/vm-host.ts'
import type { Capture } from './capture.ts'
import { CopyLane } from './copy-lane.ts'
import { continueReleased, releaseGuest, stopHeld } from '../guest/hold.ts'
import { Vm } from '../vm/vm.ts'

const MOST_LAYERS = 64 // `capture.ts` flattens a disk that has so many
let host: VmHost
beforeAll(async () => {
  host = await VmHost.open()
})
afterAll(() => host.close())

/** A guest with 4 MiB of random memory, a running counter, and a file that counts with it. */
async function busyVm({ isDurable = false } = {}) {
  const vm = await host.start(null, releaseGuest, [], isDurable)
  await host.sh(vm, 'mkdir -p /run/t && mount -t tmpfs none /run/t && head -c 4194304 /dev/urandom > /run/t/memory')
  await host.sh(vm, 'head -c 1000000 /dev/urandom > /root/file')
  const count =
    'c() { echo $i > $1.new; mv $1.new $1; }; i=0; while :; do i=$((i+1)); c /run/t/count; c /root/count; sleep 0.02; done'
  await host.sh(
    vm,
    `(${count}) > /dev/null 2>&1 & echo $! > /run/t/pid; while ! test -e /root/count; do sleep 0.02; done`,
  )
  return { vm, sums: await host.sh(vm, SUMS) }
}

const SUMS = 'md5sum /run/t/memory /root/file'
/** The counters in memory and on disk. The loop writes memory first. */
const STOPPED_COUNTS = 'kill -STOP $(cat /run/t/pid); cat /run/t/count /root/count'

function counts(text: string): readonly [memory: number, disk: number] {
  const [memory = Number.NaN, disk = Number.NaN] = text.split('\n').map(Number)
  return [memory, disk]
}

async function expectWhole(vm: Vm, sums: string): Promise<void> {
  // From the disk, not from the guest's page cache.
  await host.sh(vm, 'echo 3 > /proc/sys/vm/drop_caches')
  expect(await host.sh(vm, SUMS)).toBe(sums)
  const [memory, disk] = counts(await host.sh(vm, STOPPED_COUNTS))
  expect(memory).toBeGreaterThan(0)
  expect([0, 1]).toContain(memory - disk)
  await host.sh(vm, 'kill -CONT $(cat /run/t/pid)')
}

/** The files that a VM has open. */
async function descriptors({ process: { pid } }: Vm) {
  const names = await readdir(`/proc/${pid}/fd`)
  return Promise.all(
    names.map(async (name) => {
      const flags = /^flags:\s+(\d+)$/m.exec(await readFile(`/proc/${pid}/fdinfo/${name}`, 'utf8'))?.[1] ?? ''
      return { target: await readlink(`/proc/${pid}/fd/${name}`), isWritable: (Number.parseInt(flags, 8) & 3) !== 0 }
    }),
  )
}

async function openLayers(vm: Vm): Promise<string[]> {
  const open = (await descriptors(vm)).filter(({ target }) => target.includes('/layers/'))
  return [...new Set(open.map(({ target }) => target))]
}

describe('a checkpoint of a running guest', () => {
  it('has memory, processes and disk of one instant, also of a restored guest, which continues', async () => {
    const { vm, sums } = await busyVm()
    const first = await host.capture(vm, 'first')
    expect(first.pausedMs).toBeGreaterThan(0)
    await expectWhole(vm, sums)

    // Before it is sealed, while its parent runs.
    const child = await host.start(first)
    await expectWhole(child, sums)
    await host.sh(child, 'echo child > /root/who; echo child > /run/t/who')
    await host.end(vm)

    const second = await host.capture(child, 'second')
    await host.end(child)
    await host.seal(second)
    const opened = await host.checkpoints.open(second.folder, () => host.baked.machine, host.deadline)
    const grandchild = await host.start({ folder: second.folder, bases: 0, layers: opened.layers.map(({ id }) => id) })
    await expectWhole(grandchild, sums)
    expect(await host.sh(grandchild, 'cat /root/who /run/t/who')).toBe('child\nchild')
    expect(grandchild.disk?.layers).toEqual(second.layers)
    // The first guest sees none of this.
    const other = await host.start(first)
    expect(await host.sh(other, 'cat /root/who /run/t/who 2>/dev/null; true')).toBe('')
    for (const each of [grandchild, other]) await host.end(each)
  })

  it('lets its guest run while it waits for the copying thread', async () => {
    const vm = await host.start()
    const other = Promise.withResolvers<void>()
    void host.captureThreads.saving.use(() => other.promise, host.deadline)
    const capturing = host.capture(vm, 'waiting')
    await host.sh(vm, 'true')
    expect((await vm.qmp.execute('query-status', {}, host.deadline)).running).toBe(true)
    other.resolve()
    await capturing.then(() => host.end(vm))
  })

  it('can be taken of a stopped guest, which stays stopped, and restored stopped', { tags: ['faults'] }, async () => {
    const { vm, sums } = await busyVm()
    await stopHeld(vm, host.deadline)
    const captured = await host.capture(vm, 'stopped')
    expect(captured.pausedMs).toBe(0)
    expect((await vm.qmp.execute('query-status', {}, host.deadline)).running).toBe(false)
    const child = await host.start(captured, null)
    expect((await child.qmp.execute('query-status', {}, host.deadline)).running).toBe(false)
    const grandchild = await host.start(await host.capture(child, 'stopped-child'))
    await expectWhole(grandchild, sums)
    for (const each of [vm, child]) {
      await continueReleased(each, host.deadline)
      await expectWhole(each, sums)
    }
    for (const each of [vm, child, grandchild]) await host.end(each)
  })

  it('leaves a guest stopped if asked, and another one with the correct time', async () => {
    const vm = await host.start()
    const captured = await host.capture(vm, 'ended', { leave: 'stopped' })
    expect((await vm.qmp.execute('query-status', {}, host.deadline)).running).toBe(false)
    await host.end(vm)
    const woken = await host.start(captured)
    const seconds = Number(await host.sh(woken, 'date +%s'))
    expect(Math.abs(seconds - Date.now() / 1000)).toBeLessThan(5)
    await host.end(woken)
  })

  it('can be taken of a VM that another agent process started', { tags: ['faults'] }, async () => {
    const { vm, sums } = await busyVm()
    const first = await host.capture(vm, 'before-adoption')
    await vm.detach()
    const adopted = await Vm.adopt(vm.folder, vm.process, host.deadline)
    expect(adopted.disk).toEqual(vm.disk)
    expect(adopted.disk?.layers).toEqual(first.layers)
    const child = await host.start(await host.capture(adopted, 'after-adoption'))
    await expectWhole(child, sums)
    await adopted.detach()
    for (const each of [vm, child]) await host.end(each)
  })
})

describe('a checkpoint of a durable guest', () => {
  it('is copied from an image, or from the stopped guest if the image is lost', { tags: ['faults'] }, async () => {
    const { vm, sums } = await busyVm({ isDurable: true })
    const imaged: number[] = []
    // The first copy reads an image, not QEMU itself.
    const whenCopied = (work: () => Promise<unknown>): Partial<Capture> => ({
      saving: new CopyLane({
        idle: () => Promise.resolve(),
        ask: async (kind, asked, deadline) => {
          if (kind === 'save' && 'pid' in asked && asked.pid !== vm.process.pid) {
            imaged.push(asked.pid)
            await work()
          }
          return host.captureThreads.savingBeside.ask(kind, asked, deadline)
        },
      }),
    })
    // The second checkpoint has more pages than the first.
    const write = () => host.sh(vm, 'head -c 8388608 /dev/urandom > /run/t/later')
    const first = await host.capture(vm, 'of-an-image', whenCopied(write))
    const lose = async () => process.kill(imaged.at(-1) ?? 0, 'SIGKILL')
    const second = await host.capture(vm, 'of-an-image-that-was-lost', whenCopied(lose))
    expect(imaged).toHaveLength(2)
    await expectWhole(vm, sums)
    for (const [captured, later] of [
      [first, ''],
      [second, '8388608'],
    ] as const) {
      const child = await host.start(captured)
      await expectWhole(child, sums)
      expect(await host.sh(child, 'test ! -e /run/t/later || stat -c %s /run/t/later')).toBe(later)
      await host.end(child)
    }
    await host.end(vm)
    for (const pid of imaged) expect(await identifyProcess(pid)).toBe(null)
  })
})

describe('a failed capture', () => {
  it('leaves the guest running and no files behind', async () => {
    const { vm, sums } = await busyVm()
    const small = join(host.dir.root, 'small')
    await mkdir(small)
    await runProgram('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', small], host.deadline)
    try {
      const disk = vm.disk
      await expect(host.capture(vm, 'full', { folder: join(small, 'full') })).rejects.toMatchObject({ code: 'ENOSPC' })
      expect(await readdir(small)).toEqual([])
      expect(vm.disk).toEqual(disk)
      const layers = (await readdir(vm.folder)).filter((name) => name.endsWith('.qcow2') || name.startsWith('state'))
      expect(layers).toEqual([`${disk?.active}.qcow2`])
      await expectWhole(vm, sums)
      const child = await host.start(await host.capture(vm, 'afterwards'))
      await expectWhole(child, sums)
      await host.end(child)
    } finally {
      await runProgram('umount', [small], host.deadline)
    }
    await host.end(vm)
  })

  it('reports that QEMU died during it', async () => {
    const vm = await host.start()
    await stopHeld(vm, host.deadline)
    const capturing = host.capture(vm, 'dead')
    process.kill(vm.process.pid, 'SIGKILL')
    await expect(capturing).rejects.toThrow(/./)
    await vm.ended
    expect(await readdir(host.dir.snapshots)).not.toContain('dead')
  })

  it('cannot be restored with files of another checkpoint', async () => {
    const vm = await host.start()
    const captured = await host.capture(vm, 'runs-of-another')
    await host.sh(vm, 'head -c 3000000 /dev/urandom > /dev/shm/x 2>/dev/null || head -c 3000000 /dev/urandom > /tmp/x')
    const other = await host.capture(vm, 'another')
    await rm(join(captured.folder, 'runs'))
    await copyFile(join(other.folder, 'runs'), join(captured.folder, 'runs'))
    await expect(host.start(captured)).rejects.toThrow('guest memory: the runs')
    await host.end(vm)
  })
})

describe('a long chain of layers', () => {
  it('is flattened while the guest runs, and can be captured during and after that', { tags: ['long'] }, async () => {
    const { vm, sums } = await busyVm()
    for (let i = 0; i < 3; i++) await host.capture(vm, `chain-${i}`)
    expect(vm.disk?.layers).toHaveLength(3)
    const stopped = flatten(vm, host.deadline)
    stopped.catch(() => undefined)
    await stopFlattening(vm, host.deadline)
    const outcome = await stopped.then(
      () => 'done before it could be stopped',
      (error: unknown) => error,
    )
    if (outcome instanceof Error) expect(outcome).toBeInstanceOf(FlattenStopped)

    const [captured] = await Promise.all([host.capture(vm, 'during'), host.sh(vm, 'sync')])
    await flatten(vm, host.deadline)
    expect(vm.disk?.layers).toEqual([])
    await host.layers.sweep(() => vm.disk?.layers ?? [])
    expect(await readdir(host.dir.retiredLayers)).not.toEqual([])
    await expectWhole(vm, sums)
    expect(await openLayers(vm)).toEqual([])
    const child = await host.start(await host.capture(vm, 'flat'))
    expect(child.disk?.layers).toHaveLength(1)
    await expectWhole(child, sums)
    // A layer that QEMU inherited at its start.
    expect(await openLayers(child)).toHaveLength(1)
    await flatten(child, host.deadline)
    expect(await openLayers(child)).toEqual([])
    await expectWhole(child, sums)
    await expect(host.start(captured)).rejects.toThrow('ENOENT')
    for (const each of [vm, child]) await host.end(each)
  })
})

describe('the longest chain of layers', () => {
  it('is flattened before another layer is added, without loss', { tags: ['long'] }, async () => {
    const vm = await host.start()
    await host.sh(vm, 'echo 0 > /root/file; sync')
    for (let i = 1; i <= MOST_LAYERS + 2; i++) {
      await host.capture(vm, `many-${i}`)
      if (i % 16 === 0) await host.sh(vm, `echo ${i} >> /root/file; sync`)
    }
    expect(vm.disk?.layers).toHaveLength(2)
    const child = await host.start(await host.capture(vm, 'many-last'))
    for (const each of [vm, child]) {
      expect(await host.sh(each, 'echo 3 > /proc/sys/vm/drop_caches; cat /root/file')).toBe('0\n16\n32\n48\n64')
      await host.end(each)
    }
  })
})

describe('the files of a checkpoint', () => {
  it('belong to root, and no QEMU can write them', async () => {
    const vm = await host.start()
    const captured = await host.capture(vm, 'files')
    const child = await host.start(captured)
    const names = (await readdir(captured.folder)).map((name) => join(captured.folder, name))
    for (const path of [...names, ...captured.layers.map((id) => host.layers.path(id))]) {
      const { mode, uid } = await stat(path)
      expect([mode & 0o777, uid]).toEqual([0o400, process.getuid?.()])
    }
    for (const each of [vm, child]) {
      const frozen = (await descriptors(each)).filter(({ target }) => /\/(layers|snapshots|bakes)\//.test(target))
      expect(frozen).not.toEqual([])
      expect(frozen.filter(({ isWritable }) => isWritable)).toEqual([])
    }
    for (const each of [vm, child]) await host.end(each)
  })
})

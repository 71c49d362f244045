import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VmHost } from '../../test/vm-host.ts'
import { guestIdentity } from '../guest/guest-identity.ts'
import { restore, type Restore } from '../restore/restore.ts'
import type { VolumeDevice } from './volume-devices.ts'

const run = promisify(execFile)
const MIB = 1024 * 1024
/** Time limit for a QEMU that logs its refusal and then hangs. */
const REFUSED_MS = 3000
let host: VmHost
let folder: string

beforeAll(async () => {
  host = await VmHost.open()
  folder = join(host.dir.root, 'volumes')
  await mkdir(folder, { recursive: true, mode: 0o711 })
})
afterAll(async () => host.close())

async function volume(sizeMib: number): Promise<string> {
  const path = join(folder, randomUUID())
  await writeFile(path, '', { mode: 0o600 })
  await truncate(path, sizeMib * MIB)
  await run('mke2fs', ['-q', '-F', '-t', 'ext4', path])
  return path
}

/** Lets the guest of a new VM mount its volumes. */
function greetWith(volumes: readonly VolumeDevice[]): Restore['greet'] {
  const bits = volumes.filter(({ path }) => path !== null).reduce((mask, { place }) => mask | (1 << place), 0)
  return async (vm, deadline) => {
    const link = await vm.link(deadline)
    await link.refresh({ ...guestIdentity(randomUUID() as SandboxId, 'keep', null), volumes: bits }, deadline).settled
  }
}

const start = (volumes: readonly VolumeDevice[], checkpoint: Restore['checkpoint'] = null) =>
  host.start(checkpoint, greetWith(volumes), volumes)
const device = (place: number, path: string | null, isNew = true): VolumeDevice => ({
  place,
  isReadOnly: false,
  path,
  isNew,
})
const reading = (place: number, path: string, isNew = true): VolumeDevice => ({
  ...device(place, path, isNew),
  isReadOnly: true,
})

describe('the volumes of a restored guest', () => {
  it('are its block devices in order, and synced data is in their files', async () => {
    const [small, large, third] = [await volume(8), await volume(24), await volume(16)]
    const vm = await start([device(2, third), device(0, small), reading(1, large)])
    expect(await host.sh(vm, 'cat /sys/block/vd[b-z]/size /sys/block/vd[b-z]/ro')).toBe('16384\n49152\n32768\n0\n1\n0')
    await host.sh(
      vm,
      'mkdir /a /b; mount /dev/vdb /a && mount -o ro /dev/vdc /b && echo kept > /a/file && sync /a/file',
    )
    await expect(host.sh(vm, 'echo x > /dev/vdc')).rejects.toThrow(Error)
    await host.end(vm)
    const next = await start([device(0, small)])
    expect(await host.sh(next, 'mkdir /a; mount /dev/vdb /a && cat /a/file')).toBe('kept')
    await host.end(next)
  })

  it('are absent in a guest without volumes', async () => {
    const vm = await host.start(null, greetWith([]))
    expect(await host.sh(vm, 'ls -d /dev/vd* && ls /sys/block')).toBe('/dev/vda\nvda')
    await host.end(vm)
  })

  it('can be eight', async () => {
    const path = await volume(8)
    const all = Array.from({ length: 8 }, (_, place) => reading(place, path))
    const vm = await start(all)
    expect(await host.sh(vm, 'cat /sys/block/vd[b-i]/serial')).toBe('vol0vol1vol2vol3vol4vol5vol6vol7')
    await host.end(vm)
  })

  it('cannot be written by two VMs, whatever starts them', async () => {
    const path = await volume(8)
    const vm = await start([device(0, path)])
    const volumes = [device(0, path)]
    const options = { ...(await host.restoreOptions()), checkpoint: null, greet: greetWith(volumes), volumes }
    await expect(restore(options, Deadline.after(REFUSED_MS, 'a second QEMU'))).rejects.toThrow(Error)
    await host.end(vm)
  })
})

describe('a restored guest with volumes', () => {
  it('continues with them if it gets them again', async () => {
    const path = await volume(16)
    const vm = await start([device(0, path)])
    await host.sh(vm, 'mkdir /a; mount /dev/vdb /a; echo before > /a/file')
    const captured = await host.capture(vm, 'again', { leave: 'stopped' })
    await host.end(vm)
    const woken = await host.start(captured, undefined, [device(0, path, false)])
    expect(await host.sh(woken, 'cat /a/file; echo after > /a/file; sync')).toBe('before')
    await host.end(woken)
    await run('e2fsck', ['-p', '-f', path]).catch(({ code }: { code: number }) => expect(code).toBe(1))
  })

  it('has I/O errors and then no device in the place of a missing volume, and cannot reach the original', async () => {
    const [kept, lost, read] = [await volume(8), await volume(16), await volume(24)]
    const devices = [device(0, lost), reading(1, read), device(2, kept)]
    const vm = await start(devices)
    await host.sh(vm, 'mkdir /a /b; mount /dev/vdb /a; mount -o ro /dev/vdc /b; echo parent > /a/file; sync')
    await host.sh(vm, 'dd if=/dev/zero of=/a/dirty bs=1M count=2 2>/dev/null')
    const captured = await host.capture(vm, 'child')
    await host.sh(vm, 'rm /a/dirty; sync')
    const before = await readFile(lost)
    const child = await start([device(0, null, false), reading(1, read, false), device(2, null, false)], captured)
    expect(
      await host.sh(child, 'cat /proc/mounts | grep -c vdb; ls /dev/vd* | tr "\\n" " "; ls /b').catch(String),
    ).toContain('/dev/vdc lost+found')
    await host.sh(child, 'sync')
    expect((await readFile(lost)).equals(before)).toBe(true)
    await host.end(child)
    expect(await host.sh(vm, 'cat /a/file')).toBe('parent')
    await host.end(vm)
  })
})

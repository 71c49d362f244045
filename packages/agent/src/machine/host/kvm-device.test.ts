import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { confine } from '../vm/confinement.ts'
import { findKvmDevice } from './kvm-device.ts'

const run = promisify(execFile)
/** A user without a slot, and a group without files. */
const UID = 199_001
const GROUP = 199_002
const OWNER = 199_003

/** The numbers of the null device: every host has that driver, and opening it has no effect. */
const MEM_MAJOR = '1'
const NULL_MINOR = '3'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-kvm-device-'))
  await chmod(folder, 0o755)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function makeDevice(name: string, uid: number, gid: number, mode: number): Promise<string> {
  const path = join(folder, name)
  await run('mknod', [path, 'c', MEM_MAJOR, NULL_MINOR])
  await chown(path, uid, gid)
  await chmod(path, mode)
  return path
}

async function canOpen(path: string, kvmGroup: number | null): Promise<boolean> {
  const { program, args } = confine({ program: 'sh', args: ['-c', 'exec 3<>"$1"', 'sh', path] }, { uid: UID, kvmGroup })
  return run(program, [...args]).then(
    () => true,
    () => false,
  )
}

// Only root can make device nodes and use VM users.
describe.skipIf(process.getuid?.() !== 0)("KVM's device, as a VM's user opens it", () => {
  it.each([
    ['Debian and Ubuntu: root:kvm 0660', 0, GROUP, 0o660, GROUP],
    ['Fedora and Arch: root:kvm 0666', 0, GROUP, 0o666, null],
    ['everybody, of root alone: root:root 0666', 0, 0, 0o666, null],
    ['another owner, with the group: 0660', OWNER, GROUP, 0o660, GROUP],
  ])('%s', async (name, uid, gid, mode, group) => {
    const path = await makeDevice(name.replaceAll(/\W/g, '-'), uid, gid, mode)
    expect(await findKvmDevice({ path })).toEqual({ isUsable: true, group })
    expect(await canOpen(path, group)).toBe(true)
    // The VM can open the device only because of the group.
    expect(await canOpen(path, null)).toBe(group === null)
  })

  it.each([
    ['containers: root:root 0600', 0, 0, 0o600],
    ['root:root 0660', 0, 0, 0o660],
    ['a group that only reads', 0, GROUP, 0o640],
    ['a group that only writes', 0, GROUP, 0o620],
  ])('%s is refused with owner, mode and a remedy', async (name, uid, gid, mode) => {
    const path = await makeDevice(name.replaceAll(/\W/g, '-'), uid, gid, mode)
    const device = await findKvmDevice({ path })
    const told = `its owner is ${uid}:${gid} and its mode 0${mode.toString(8)}`
    expect(device).toEqual({ isUsable: false, reason: expect.stringContaining(told) })
    expect(await canOpen(path, null)).toBe(false)
    // A jail has its own device node for the VM's user.
    expect(await findKvmDevice({ path, isJailed: true })).toEqual({ isUsable: true, group: null })
    // In a user namespace the jail has the host's node.
    expect(await findKvmDevice({ path, isJailed: true, ownsDevices: false })).toEqual({
      isUsable: false,
      reason: expect.stringContaining(`As root: chmod 666 ${path}`),
    })
  })
})

describe("KVM's device", () => {
  it('is reported if it is missing or no device', async () => {
    const file = join(folder, 'file')
    await writeFile(file, '')
    expect(await findKvmDevice({ path: join(folder, 'none'), isRoot: true })).toMatchObject({
      reason: `there is no ${folder}/none`,
    })
    expect(await findKvmDevice({ path: file, isRoot: true })).toMatchObject({
      reason: `${file} is not a character device`,
    })
    expect(await findKvmDevice({ path: join(file, 'below'), isRoot: true })).toMatchObject({
      reason: expect.stringContaining('ENOTDIR'),
    })
  })
})

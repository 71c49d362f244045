/**
 * The jail for every process that reads a guest's data (native/jail.c, docs/adr/0014-jail.md): the launcher that creates
 * its namespaces, and the folder that becomes its root.
 *
 * The root contains QEMU and the ext4 tools with their libraries, modules and firmware: those that the images bring
 * (docs/adr/0066-qemu-of-debian-13.md), or the host's own, each at its path on the host. The name of the root is made of
 * their versions, and its content never changes: after an upgrade of the images or of the host's packages, the agent makes
 * another root.
 */
import { createHash } from 'node:crypto'
import {
  access,
  chmod,
  copyFile,
  mkdir,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { linkOrCopy } from '../../store/disks/link-or-copy.ts'
import type { CgroupPlace } from './cgroups.ts'
import { findProgram, type Qemu } from './qemu.ts'
import { runProgram } from './run-program.ts'

export interface Jail {
  /** native/jail.c, compiled. */
  readonly launcher: string
  /** The folder that becomes the root of each process. */
  readonly root: string
  /** Paths in the root. */
  readonly tools: { readonly e2fsck: string; readonly resize2fs: string }
}

/** Raise it when the list of files in a root changes. */
const ROOT_VERSION = 2
/** A user without any rights, for the trial of the launcher. */
const NOBODY_UID = 65_534
/** Paths in the root: the VM's folder, the folder of its bake, the file system that a tool works on, the preload object. */
export const JAIL_VM = '/vm'
export const JAIL_BAKE = '/bake'
export const JAIL_VOLUME = '/volume'
export const JAIL_PRELOAD = '/guest-memory.so'
/** A link to QEMU, which names its path on the host. Roots of version 1 lack it. */
const JAIL_QEMU = '/qemu'
/** Where Debian's QEMU searches for files to load at run time. */
const DATA_FOLDERS = ['/usr/share/qemu', '/usr/share/seabios']
/** The firmware for the machine `microvm`. */
const FIRMWARE = ['bios-microvm.bin', 'linuxboot_dma.bin', 'linuxboot.bin', 'kvmvapic.bin', 'pvh.bin']
const MODULES = ['accel-tcg-x86_64.so']
/** Paths of the tools in a root that the images bring. */
const TOOLS_OF_IMAGES = { e2fsck: '/usr/sbin/e2fsck', resize2fs: '/usr/sbin/resize2fs' }
/** On Debian these are links to folders of the same name below `/usr`; programs name their loader by them. */
const MERGED_FOLDERS = ['lib', 'lib64', 'bin', 'sbin']
/** `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)`, or the loader itself: `/lib64/ld-linux-x86-64.so.2 (0x…)`. */
const LIBRARY = /(\/\S+) \(0x[0-9a-f]+\)$/

/**
 * Makes the root unless it exists, and tries the launcher.
 * @param folder contains the roots, named after their versions
 * @throws Error if this host does not allow namespaces, or lacks a program
 */
export async function openJail(
  folder: string,
  { qemu, launcher, preload }: { readonly qemu: Qemu; readonly launcher: string; readonly preload: string },
  deadline: Deadline,
): Promise<Jail> {
  const isHosts = qemu.root === '/'
  const tools = isHosts ? await toolsOfHost() : TOOLS_OF_IMAGES
  const files = isHosts ? await filesOfHost(qemu.path, Object.values(tools), deadline) : await filesBelow(qemu.root)
  const root = join(folder, `${qemu.version}-${await digestOf(qemu.root, files)}`)
  if (!(await exists(root))) await makeRoot(root, { files, qemu }, deadline)
  const jail = { launcher, root, tools }
  await tryJail(jail, { qemu: qemu.path, preload }, deadline)
  return jail
}

/**
 * Opens a root that an earlier start of the agent made.
 * @param qemu path of the current QEMU, which is also assumed in a root of version 1
 * @returns the jail, and the path of the QEMU in it
 * @throws Error if QEMU does not start in it
 */
export async function reopenJail(
  current: Jail,
  root: string,
  { qemu: currentQemu, preload }: { readonly qemu: string; readonly preload: string },
  deadline: Deadline,
): Promise<{ readonly jail: Jail; readonly path: string }> {
  const path = await readlink(join(root, JAIL_QEMU)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return currentQemu
    throw error
  })
  const jail = { ...current, root }
  await tryJail(jail, { qemu: path, preload }, deadline)
  return { jail, path }
}

/** Also copies this agent's preload object into it. */
async function tryJail(
  { launcher, root }: Jail,
  { qemu, preload }: { readonly qemu: string; readonly preload: string },
  deadline: Deadline,
): Promise<void> {
  await copyFile(preload, join(root, `${JAIL_PRELOAD}.new`))
  await rename(join(root, `${JAIL_PRELOAD}.new`), join(root, JAIL_PRELOAD))
  const trial = ['--root', root, '--uid', String(NOBODY_UID), '--with-parent', '--', qemu, '--version']
  await runProgram(launcher, trial, deadline)
}

/** The launcher's options for control groups. */
export function joining(place: CgroupPlace | null): string[] {
  if (place === null) return []
  return place.version === 2 ? ['--cgroup', place.folder] : place.tasks.flatMap((file) => ['--join', file])
}

async function toolsOfHost(): Promise<Jail['tools']> {
  return { e2fsck: await findProgram('e2fsck', 'e2fsprogs'), resize2fs: await findProgram('resize2fs', 'e2fsprogs') }
}

/** All files of a root that the images bring, by their paths in it. */
async function filesBelow(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map((file) => join('/', relative(root, file.parentPath), file.name)).toSorted()
}

/** Every file that the programs need, by its path on the host. */
async function filesOfHost(qemu: string, tools: readonly string[], deadline: Deadline): Promise<string[]> {
  const modules = join(dirname(await libraryNamed('libc.so.6', qemu, deadline)), 'qemu')
  const loaded = (await existing(MODULES.map((name) => join(modules, name)))).toSorted()
  const data = await existing(DATA_FOLDERS.flatMap((folder) => FIRMWARE.map((name) => join(folder, name))))
  const programs = [qemu, ...tools, ...loaded]
  const libraries = await Promise.all(programs.map((program) => librariesOf(program, deadline)))
  return [...new Set([...programs, ...libraries.flat(), ...data])].toSorted()
}

async function libraryNamed(name: string, program: string, deadline: Deadline): Promise<string> {
  const found = (await librariesOf(program, deadline)).find((path) => basename(path) === name)
  if (found === undefined) throw new Error(`${program} does not use ${name}: it is not a program of this distribution`)
  return found
}

/** Asks the loader, which also knows the libraries' own libraries (ldd(1)). */
async function librariesOf(program: string, deadline: Deadline): Promise<string[]> {
  const lines = (await runProgram('ldd', [program], deadline)).split('\n')
  const missing = lines.find((line) => line.endsWith('not found'))
  if (missing !== undefined) throw new Error(`${program} lacks a library: ${missing.trim()}`)
  return lines.flatMap((line) => LIBRARY.exec(line)?.[1] ?? [])
}

/** Files have the build time of their package, so another build of the same version counts as another version. */
async function digestOf(from: string, files: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(String(ROOT_VERSION))
  for (const path of files) {
    const { size, mtimeMs } = await stat(join(from, path))
    hash.update(`\n${path} ${size} ${Math.trunc(mtimeMs)}`)
  }
  return hash.digest('hex').slice(0, 16)
}

async function makeRoot(
  root: string,
  { files, qemu }: { readonly files: readonly string[]; readonly qemu: Qemu },
  deadline: Deadline,
): Promise<void> {
  const beside = join(dirname(root), `.new-${basename(root)}`)
  await rm(beside, { recursive: true, force: true })
  await mkdir(beside, { recursive: true, mode: 0o711 })
  for (const folder of ['dev', 'etc', 'proc', JAIL_VM, JAIL_BAKE]) await mkdir(join(beside, folder), { mode: 0o755 })
  for (const name of MERGED_FOLDERS) {
    const target = await readlink(join(qemu.root, name)).catch(() => null)
    if (target !== null) await symlink(target, join(beside, name))
  }
  const from = await realpath(qemu.root)
  for (const path of files) {
    const folder = join(beside, relative(from, await realpath(join(from, dirname(path)))))
    await mkdir(folder, { recursive: true, mode: 0o755 })
    await linkOrCopy(await realpath(join(from, path)), join(folder, basename(path)))
  }
  await symlink(qemu.path, join(beside, JAIL_QEMU))
  // Empty tables of mounts: resize2fs reads them, and refuses to work without.
  for (const name of ['proc/mounts', 'proc/swaps', 'etc/mtab', JAIL_VOLUME]) await writeFile(join(beside, name), '')
  await runProgram('ldconfig', ['-r', beside], deadline)
  await chmod(beside, 0o755)
  await rename(beside, root)
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map(exists))
  return paths.filter((_path, index) => found[index])
}

/** Follows links. @throws Error if the answer is unknown: a root that lacks a file would be another root */
async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}

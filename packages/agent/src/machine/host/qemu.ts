import { access, constants, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from './run-program.ts'

/** A QEMU that this host can run. */
export interface Qemu {
  /** The folder below which it finds its libraries and firmware: `/` for the host's own, which also runs without a jail. */
  readonly root: string
  /** Below {@link root}. */
  readonly path: string
  /** `7.2.22` */
  readonly version: string
  /** Changes with the file, so that a package update counts even if the version is the same. */
  readonly build: string
}

/** `7.2` of `7.2.22`. Within a series the format of device states does not change: QEMU's stable branches take fixes only. */
export function qemuSeries(version: string): string {
  return version.split('.').slice(0, 2).join('.')
}

/** The first version that was seen to find its translations by the place of the code in memory (docs/adr/0039-newer-qemu.md). */
const FIRST_WITHOUT_ADDRESSES = 10

/** Whether this QEMU translates code again that it has translated, when the guest runs it at another address. */
export function translatesByAddress(version: string): boolean {
  return Number.parseInt(version, 10) < FIRST_WITHOUT_ADDRESSES
}

const PROGRAM = 'qemu-system-x86_64'

/** The host's own. @throws Error when there is none; the message names the package */
export async function findQemu(deadline: Deadline): Promise<Qemu> {
  return describe('/', await findProgram(PROGRAM, 'qemu-system-x86'), deadline)
}

/**
 * The QEMU that the images bring, which runs in a jail only.
 * @param root `qemu/` of the images
 * @returns `null` if they bring none, because the host's is as new
 */
export async function findQemuOfImages(root: string, deadline: Deadline): Promise<Qemu | null> {
  const path = `/usr/bin/${PROGRAM}`
  return (await isExecutable(join(root, path))) ? describe(root, path, deadline) : null
}

async function describe(root: string, path: string, deadline: Deadline): Promise<Qemu> {
  const [program, ...args] = commandOutsideJail({ root, path })
  const output = await runProgram(program, [...args, '--version'], deadline)
  const version = /version (\d+\.\d+\.\d+)/.exec(output)?.[1]
  if (version === undefined) throw new Error(`no version in the answer of ${path} --version`)
  const { size, mtimeMs } = await stat(join(root, path))
  return { root, path, version, build: `${size}-${Math.trunc(mtimeMs)}` }
}

/** The command line that starts it in the host's root: with the loader, the libraries and the firmware of its own root. */
export function commandOutsideJail({ root, path }: Pick<Qemu, 'root' | 'path'>): [string, ...string[]] {
  if (root === '/') return [path]
  const folders = ['usr/share/qemu', 'usr/share/seabios'].flatMap((folder) => ['-L', join(root, folder)])
  const libraries = join(root, 'usr/lib/x86_64-linux-gnu')
  return [join(root, 'lib64/ld-linux-x86-64.so.2'), '--library-path', libraries, join(root, path), ...folders]
}

/** Folders of system programs, which are only in root's `PATH`. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/sbin']

/** @throws Error when there is none; the message names the package */
export async function findProgram(name: string, debianPackage: string): Promise<string> {
  for (const folder of [...(process.env['PATH'] ?? '/usr/bin:/bin').split(':'), ...SYSTEM_FOLDERS]) {
    const path = await realpath(join(folder, name)).catch(() => null)
    if (path === null) continue
    if (await isExecutable(path)) return path
  }
  throw new Error(`${name} not found: install the Debian package ${debianPackage}`)
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

import { access, constants, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from './run-program.ts'

/** The QEMU of this host. */
export interface Qemu {
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

/** @throws Error when there is none; the message names the package */
export async function findQemu(deadline: Deadline): Promise<Qemu> {
  const path = await findProgram('qemu-system-x86_64', 'qemu-system-x86')
  const output = await runProgram(path, ['--version'], deadline)
  const version = /version (\d+\.\d+\.\d+)/.exec(output)?.[1]
  if (version === undefined) throw new Error(`no version in the answer of ${path} --version`)
  const { size, mtimeMs } = await stat(path)
  return { path, version, build: `${size}-${Math.trunc(mtimeMs)}` }
}

/** Folders of system programs, which are only in root's `PATH`. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/sbin']

/** @throws Error when there is none; the message names the package */
export async function findProgram(name: string, debianPackage: string): Promise<string> {
  for (const folder of [...(process.env['PATH'] ?? '/usr/bin:/bin').split(':'), ...SYSTEM_FOLDERS]) {
    const path = await realpath(join(folder, name)).catch(() => null)
    if (path === null) continue
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isExecutable) return path
  }
  throw new Error(`${name} not found: install the Debian package ${debianPackage}`)
}

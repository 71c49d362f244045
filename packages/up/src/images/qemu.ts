import { access, cp, mkdir, rm, symlink } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import { CommandFailed, runCommand } from '../base/run-command.ts'
import { hashTexts } from './content-hash.ts'
import { debianMirror, hostRelease, sourcesOf } from './debian-mirror.ts'
import { removeBuildFolder, withImageRoot } from './image-root.ts'
import type { Step, StepWork } from './step.ts'

const FOLDER = 'qemu'
const HOST_PACKAGE = 'qemu-system-x86'
/** From this version on, emulated guests start programs several times as fast (docs/adr/0066-qemu-of-debian-13.md). */
const WANTED_MAJOR = 10
/** The first Debian release that has it. */
const SUITE = 'trixie'
const PACKAGES = ['qemu-system-x86', 'e2fsprogs']
/** Paths below a root. */
const PROGRAMS = ['usr/bin/qemu-system-x86_64', 'usr/sbin/e2fsck', 'usr/sbin/resize2fs']
/** What QEMU loads for the machine `microvm`. */
const FIRMWARE = [
  'usr/share/seabios/bios-microvm.bin',
  'usr/share/qemu/kvmvapic.bin',
  'usr/share/qemu/linuxboot.bin',
  'usr/share/qemu/linuxboot_dma.bin',
  'usr/share/qemu/pvh.bin',
]
const LIBRARIES = 'usr/lib/x86_64-linux-gnu'
const LOADER = 'usr/lib64/ld-linux-x86-64.so.2'
/** Links to the folders of the same name below `usr`; programs name their loader by one. */
const MERGED_FOLDERS = ['bin', 'lib', 'lib64', 'sbin']
/** Milliseconds; less than the step has, so that a mirror that does not answer is no error. */
const FETCH_MS = 180_000
/** Increment when this step's output changes for equal inputs. */
const VERSION = '1'

/**
 * The folder `qemu/`, from which the agent makes the root of its jails: the QEMU of a newer Debian release than the
 * host's, with its libraries, its firmware and the ext4 tools. The host's own packages stay as they are. The folder is
 * empty if the host's QEMU is new enough, or if the host's mirror has no newer one.
 *
 * The step runs again when the host's QEMU is updated, because the newer one has usually got the same security updates.
 */
export function qemuStep(): Step {
  return {
    name: 'qemu',
    title: 'QEMU',
    after: [],
    outputs: [FOLDER],
    maxSeconds: 300,
    inputsHash: async () => hashTexts(VERSION, process.arch, await hostVersion()),
    run,
  }
}

async function run(work: StepWork): Promise<void> {
  const folder = join(work.folder, FOLDER)
  await mkdir(folder)
  if (process.arch !== 'x64' || majorOf(await hostVersion()) >= WANTED_MAJOR) return
  const release = await hostRelease()
  const sources = sourcesOf(await debianMirror(release), { from: release, to: SUITE })
  try {
    if (sources.length > 0) await fetchInto(folder, sources, work)
  } catch (error) {
    work.deadline.throwIfOver() // if another step failed, report that error
    if (!(error instanceof CommandFailed || error instanceof DeadlineExceeded)) throw error
    work.report(`no newer one could be fetched: ${error.message}`)
    await keepEarlier(folder, join(work.imagesDir, FOLDER))
  }
}

async function fetchInto(folder: string, sources: readonly string[], work: StepWork): Promise<void> {
  const deadline = work.deadline.within(FETCH_MS, 'fetching QEMU')
  const debian = join(work.folder, 'debian')
  work.report('downloading')
  await withImageRoot(deadline.signal, async ({ run, mode }) => {
    const options = ['--variant=extract', '--format=directory', '--aptopt=APT::Install-Recommends "false"']
    const line = [`--mode=${mode}`, ...options, `--include=${PACKAGES.join(',')}`, SUITE, debian, ...sources]
    await run('mmdebstrap', line, { deadline })
  })
  for (const path of [...PROGRAMS, ...FIRMWARE, ...(await librariesOf(debian, deadline))]) {
    // Files keep the time of their package's build, by which the agent tells this QEMU from another.
    await cp(join(debian, path), join(folder, path), { dereference: true, preserveTimestamps: true })
  }
  for (const name of MERGED_FOLDERS) await symlink(`usr/${name}`, join(folder, name))
  await removeBuildFolder(debian, deadline)
}

/** The loader, and every library that it finds for the programs, without running them. */
async function librariesOf(debian: string, deadline: Deadline): Promise<readonly string[]> {
  const found = new Set([LOADER])
  for (const program of PROGRAMS) {
    const line = ['--library-path', join(debian, LIBRARIES), '--list', join(debian, program)]
    const output = await runCommand(join(debian, LOADER), line, { deadline })
    for (const [, path = ''] of output.matchAll(/=> (\S+) \(0x/g)) found.add(relative(debian, path))
  }
  return [...found]
}

/** Copies what an earlier run of the step has fetched, if anything. */
async function keepEarlier(folder: string, earlier: string): Promise<void> {
  await rm(folder, { recursive: true })
  const isThere = await access(earlier).then(
    () => true,
    () => false,
  )
  if (isThere) await cp(earlier, folder, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  else await mkdir(folder)
}

/** Version of the host's package, such as `1:7.2+dfsg-7+deb12u18`; empty if it is not installed. */
async function hostVersion(): Promise<string> {
  const deadline = Deadline.after(20_000, 'asking for the version of QEMU')
  return runCommand('dpkg-query', ['-W', '-f=${Version}', HOST_PACKAGE], { deadline }).catch((error: unknown) => {
    if (error instanceof CommandFailed) return ''
    throw error
  })
}

/** `7` of `1:7.2+dfsg-7`; NaN if there is none. */
function majorOf(version: string): number {
  return Number.parseInt(version.replace(/^\d+:/, ''), 10)
}

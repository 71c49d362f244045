import type { Deadline } from '@offshoot/kit/deadline'
import { chown } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { runProgram } from '../host/run-program.ts'
import { JAIL_VOLUME, joining } from '../host/jail.ts'
import type { Confinement, ProgramLine } from '../vm/confinement.ts'
import { readCondition } from './superblock.ts'

/** Runs what reads a guest's file system under a user and limits of its own, which are there as long as the work. */
export type ToolPlace = <T>(work: (confinement: Confinement) => Promise<T>) => Promise<T>

/** MiB and processes of the control group of a tool: of one, beside the pages of the file that it reads. */
export const TOOL_LIMITS = { memoryMib: 2048 + 256, processes: 16, cpu: { weight: 100, percent: null } }

/** Bytes of memory, and seconds of CPU, for a tool that reads what a guest has written. */
const TOOL_MEMORY_BYTES = 2 * 1024 ** 3
const TOOL_CPU_SECONDS = 300
/** e2fsck(8): what it found is mended. */
const MENDED = new Set([1, 2])

/** A new file system over the whole of a new, empty file: what is a hole there is known to be zero. */
export async function makeExt4(path: string, deadline: Deadline): Promise<void> {
  const options = ['-E', 'assume_storage_prezeroed=1,nodiscard', '-m', '0']
  await runProgram('mke2fs', ['-q', '-F', '-t', 'ext4', ...options, path], deadline)
}

/**
 * Checks a file system that was not left in order, and mends it; what is no ext4 is its user's business.
 * @throws Error with the tool's last words
 */
export async function checkExt4(path: string, place: ToolPlace, deadline: Deadline): Promise<void> {
  if ((await readCondition(path)) !== 'unclean') return
  await place((confinement) => asUser(path, confinement, () => mend(path, confinement, deadline)))
}

/** Makes a file system as large as its file. What is no ext4 is its user's business. @throws Error */
export async function growExt4(path: string, place: ToolPlace, deadline: Deadline): Promise<void> {
  if ((await readCondition(path)) === 'not-ext4') return
  await place((confinement) =>
    asUser(path, confinement, async () => {
      // resize2fs wants to see a check of what it is given.
      await mend(path, confinement, deadline)
      await runTool('resize2fs', [], path, confinement, deadline)
    }),
  )
}

async function mend(path: string, confinement: Confinement, deadline: Deadline): Promise<void> {
  let cause: unknown
  for (const how of ['-p', '-y']) {
    try {
      await runTool('e2fsck', ['-f', how], path, confinement, deadline)
      return
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (typeof code === 'number' && MENDED.has(code)) return
      cause = error
    }
    deadline.throwIfOver()
  }
  throw new Error('the file system could not be mended', { cause })
}

async function asUser(path: string, { uid }: Confinement, work: () => Promise<void>): Promise<void> {
  if (uid === null) return work()
  await chown(path, uid, uid)
  try {
    await work()
  } finally {
    await chown(path, 0, 0)
  }
}

/** It ends with us: one that ran on would meet whoever has the volume next. */
async function runTool(
  tool: 'e2fsck' | 'resize2fs',
  args: readonly string[],
  path: string,
  confinement: Confinement,
  deadline: Deadline,
): Promise<void> {
  const { program, args: line } =
    jailedTool(tool, args, path, confinement) ?? limitedTool(tool, args, path, confinement)
  await runProgram(program, line, deadline, dirname(path))
}

/** With the volume alone (native/jail.c). `null`: this host has no jail. */
function jailedTool(
  tool: 'e2fsck' | 'resize2fs',
  args: readonly string[],
  path: string,
  { uid, jail = null, cgroup = null }: Confinement,
): ProgramLine | null {
  if (jail === null || uid === null) return null
  const limits = ['--memory', String(TOOL_MEMORY_BYTES), '--cpu', String(TOOL_CPU_SECONDS), ...joining(cgroup)]
  const place = ['--root', jail.root, '--uid', String(uid), '--bind-writable', path, JAIL_VOLUME, '--with-parent']
  return { program: jail.launcher, args: [...place, ...limits, '--', jail.tools[tool], ...args, JAIL_VOLUME] }
}

function limitedTool(tool: string, args: readonly string[], path: string, { uid }: Confinement): ProgramLine {
  const user = uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--bounding-set=-all']
  const privileges = ['--no-new-privs', '--inh-caps=-all', '--pdeathsig=KILL']
  const limits = [`--as=${TOOL_MEMORY_BYTES}`, `--cpu=${TOOL_CPU_SECONDS}`, '--core=0']
  // By its name alone: the folders above ours may be closed to others.
  const line = [...limits, 'setpriv', ...user, ...privileges, tool, ...args, basename(path)]
  return { program: 'prlimit', args: line }
}

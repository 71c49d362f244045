import type { Deadline } from '@offshoot/kit/deadline'
import { chown } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { runProgram } from '../host/run-program.ts'
import { JAIL_VOLUME, joining } from '../host/jail.ts'
import type { Confinement, ProgramLine } from '../vm/confinement.ts'
import { readCondition } from './superblock.ts'

/** Runs a tool that reads a guest's file system under a user and limits of its own, which exist only during the work. */
export type ToolPlace = <T>(work: (confinement: Confinement) => Promise<T>) => Promise<T>

/** The limits of a tool's control group. The memory is that of the tool, and room for page cache of the file that it reads. */
export const TOOL_LIMITS = { memoryMib: 2048 + 256, processes: 16, cpu: { weight: 400, percent: null } }

/** Bytes of memory, and seconds of CPU, for a tool that reads data of a guest. */
const TOOL_MEMORY_BYTES = 2 * 1024 ** 3
const TOOL_CPU_SECONDS = 300
/** Exit codes of e2fsck(8) after it has corrected all errors. */
const REPAIRED = new Set([1, 2])

/**
 * Creates a file system on a new, empty file. Its holes read as zeros, so mke2fs need not write any.
 * @param bytesPerInode `null`: as mke2fs decides
 */
export async function makeExt4(path: string, deadline: Deadline, bytesPerInode: number | null = null): Promise<void> {
  const inodes = bytesPerInode === null ? [] : ['-i', String(bytesPerInode)]
  const options = ['-E', 'assume_storage_prezeroed=1,nodiscard', '-m', '0', ...inodes]
  await runProgram('mke2fs', ['-q', '-F', '-t', 'ext4', ...options, path], deadline)
}

/**
 * Checks and repairs an ext4 file system that was not unmounted cleanly. Leaves other content to the guest that wrote it.
 * @throws Error with the last output of the tool
 */
export async function checkExt4(path: string, place: ToolPlace, deadline: Deadline): Promise<void> {
  if ((await readCondition(path)) !== 'unclean') return
  await place((confinement) => asUser(path, confinement, () => repair(path, confinement, deadline)))
}

/** Grows an ext4 file system to the size of its file. Leaves other content to the guest that wrote it. @throws Error */
export async function growExt4(path: string, place: ToolPlace, deadline: Deadline): Promise<void> {
  if ((await readCondition(path)) === 'not-ext4') return
  await place((confinement) =>
    asUser(path, confinement, async () => {
      // resize2fs refuses a file system that was not checked just before.
      await repair(path, confinement, deadline)
      await runTool('resize2fs', [], path, confinement, deadline)
    }),
  )
}

async function repair(path: string, confinement: Confinement, deadline: Deadline): Promise<void> {
  let cause: unknown
  for (const how of ['-p', '-y']) {
    try {
      await runTool('e2fsck', ['-f', how], path, confinement, deadline)
      return
    } catch (error) {
      const { code } = error as { code?: unknown }
      if (typeof code === 'number' && REPAIRED.has(code)) return
      cause = error
    }
    deadline.throwIfOver()
  }
  throw new Error('the file system could not be repaired', { cause })
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

/** The tool ends with the agent: otherwise it could still write to the volume when the next sandbox has it. */
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

/** The command line in a jail with only the volume (native/jail.c). `null` if this host has no jail. */
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
  // A relative path, because the tool's user may have no access to the folders above.
  const line = [...limits, 'setpriv', ...user, ...privileges, tool, ...args, basename(path)]
  return { program: 'prlimit', args: line }
}

/**
 * Root for the builders of Debian images. Without root, programs run in a user namespace of their own, in which the ids of
 * the image's files are ids of the user (subuid(5)). Files that this process itself makes belong to root inside.
 */
import { readFile, realpath, rm } from 'node:fs/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { signalProcess } from '@offshoot/kit/process-identity'
import { runCommand, type CommandOptions } from '../base/run-command.ts'
import { isRootless } from '../rootless/requirements.ts'
import { entering, makeUserNamespace } from '../rootless/user-namespace.ts'

/** Runs a program as root, like `runCommand`. */
export type RunAsRoot = (file: string, args: readonly string[], options: CommandOptions) => Promise<string>

export interface ImageRoot {
  readonly run: RunAsRoot
  /** Runs a program of the image in its root folder. */
  readonly runInside: (
    root: string,
    command: readonly [string, ...string[]],
    options: CommandOptions,
  ) => Promise<string>
  /** mmdebstrap's mode. */
  readonly mode: 'root' | 'unshare'
}

const ENTIRELY: ImageRoot = {
  run: runCommand,
  runInside: (root, command, options) => runCommand('chroot', [root, ...command], options),
  mode: 'root',
}

/**
 * No device can be made in a user namespace, so those of the host stand in for them while the program runs. $1 is the
 * image's root.
 */
const CHROOT = `
for name in null zero full random urandom tty; do
  [ -e "$1/dev/$name" ] || : >"$1/dev/$name"
  mount --bind "/dev/$name" "$1/dev/$name"
done
exec chroot "$@"
`

/** Calls the work with a root, which is gone afterwards. */
export async function withImageRoot<T>(cancelled: AbortSignal, work: (root: ImageRoot) => Promise<T>): Promise<T> {
  if (!isRootless()) return work(ENTIRELY)
  const options = { hasNetwork: false, isLasting: false }
  const keeper = await makeUserNamespace(options, cancelled)
  const [file = '', ...enter] = entering(keeper, options)
  const run: RunAsRoot = (program, args, how) => runCommand(file, [...enter, program, ...args], how)
  const inMounts = ['--mount', '--propagation', 'private', 'sh', '-eu', '-c', CHROOT, 'sh']
  try {
    return await work({
      run,
      runInside: (root, command, how) => run('unshare', [...inMounts, root, ...command], how),
      mode: 'unshare',
    })
  } finally {
    signalProcess(keeper, 'SIGKILL')
  }
}

/** A character in a path of mountinfo, e.g. a space (proc_pid_mountinfo(5)). */
const OCTAL = /\\(\d{3})/g

/**
 * Removes a folder that may hold files of mapped ids, which the user cannot remove outside of a user namespace. What a
 * builder that was killed has left mounted there stays as it is.
 */
export async function removeBuildFolder(path: string, deadline: Deadline): Promise<void> {
  try {
    await unmountBelow(path, deadline)
    await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!isRootless() || !['EACCES', 'EPERM'].includes(code)) throw error
    await withImageRoot(deadline.signal, ({ run }) => run('rm', ['-rf', '--', path], { deadline }))
  }
}

async function unmountBelow(path: string, deadline: Deadline): Promise<void> {
  const folder = await realpath(path).catch(() => null)
  if (folder === null) return
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replace(OCTAL, (_, code: string) => String.fromCodePoint(parseInt(code, 8))),
    )
  // The last one covers those before it.
  for (const mount of mounts.toReversed())
    if (mount.startsWith(`${folder}/`)) await runCommand('umount', ['--lazy', '--', mount], { deadline })
}

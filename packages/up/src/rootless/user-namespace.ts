/**
 * A user namespace in which the user who runs `bin/up` is root (user_namespaces(7)), kept by a process that sleeps.
 * Programs enter it one by one, with `nsenter`.
 */
import { spawn } from 'node:child_process'
import { readFile, readlink } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { identifyProcess, type ProcessIdentity, signalProcess } from '@offshoot/kit/process-identity'
import { runCommand } from '../base/run-command.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { idMap, rangesOf, readSubordinateFile, SUBORDINATE_FILES } from './subordinate-ids.ts'

const MAKE_WITHIN_MS = 20_000
const POLL_MS = 5

export interface MakeUserNamespace {
  /** Whether it has a network namespace of its own, too. */
  readonly hasNetwork: boolean
  /** Whether the namespace outlives this process. */
  readonly isLasting: boolean
  /** Added to the environment of its process. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * @returns the process that keeps the namespace
 * @throws {SetupFailure} if the host does not allow it
 */
export async function makeUserNamespace(
  { hasNetwork, isLasting, env = {} }: MakeUserNamespace,
  cancelled?: AbortSignal,
): Promise<ProcessIdentity> {
  const deadline = Deadline.after(MAKE_WITHIN_MS, 'making a user namespace', cancelled)
  const unshare = ['unshare', '--user', ...(hasNetwork ? ['--net'] : []), 'sleep', 'infinity']
  const [file = '', ...args] = isLasting ? unshare : ['setpriv', '--pdeathsig', 'KILL', ...unshare]
  const child = spawn(file, args, { cwd: '/', stdio: 'ignore', detached: true, env: { ...process.env, ...env } })
  child.on('error', () => undefined) // it has no pid then
  child.unref()
  const keeper = child.pid === undefined ? null : await identifyProcess(child.pid)
  if (keeper === null) throw new SetupFailure('This host does not let Offshoot make user namespaces.')
  try {
    while (!(await isSleepingApart(keeper))) {
      deadline.throwIfOver()
      if (child.exitCode !== null || child.signalCode !== null)
        throw new SetupFailure('This host does not let Offshoot make user namespaces.')
      await delay(POLL_MS)
    }
    await mapIds(keeper, deadline)
    return keeper
  } catch (error) {
    signalProcess(keeper, 'SIGKILL')
    throw error
  }
}

/** Command line that runs a program as root of the namespace. The user's supplementary groups stay. */
export function entering({ pid }: ProcessIdentity, { hasNetwork }: Pick<MakeUserNamespace, 'hasNetwork'>): string[] {
  const namespaces = ['--user', ...(hasNetwork ? ['--net'] : [])]
  return ['nsenter', '--target', String(pid), ...namespaces, '--preserve-credentials', '--']
}

/** Whether ids are mapped: a process that was killed while it made the namespace leaves none. */
export async function hasIds({ pid }: ProcessIdentity): Promise<boolean> {
  const [uids, gids] = await Promise.all(
    ['uid_map', 'gid_map'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
  )
  return uids !== '' && gids !== ''
}

/** The namespace of a process, as text that is equal for processes in the same one; `null` if it has ended. */
export async function namespaceOf(pid: number | 'self', kind: 'user' | 'net'): Promise<string | null> {
  return readlink(`/proc/${pid}/ns/${kind}`).catch(() => null)
}

/** `sleep` runs only after `unshare` has made the namespaces. */
async function isSleepingApart({ pid }: ProcessIdentity): Promise<boolean> {
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')
  return name === 'sleep\n' && (await namespaceOf(pid, 'user')) !== (await namespaceOf('self', 'user'))
}

async function mapIds({ pid }: ProcessIdentity, deadline: Deadline): Promise<void> {
  const { username: name, uid, gid } = userInfo()
  for (const [program, own, file] of [
    ['newuidmap', uid, SUBORDINATE_FILES.uids],
    ['newgidmap', gid, SUBORDINATE_FILES.gids],
  ] as const) {
    const map = idMap(own, rangesOf(await readSubordinateFile(file), { name, id: uid }))
    if (map === null) throw new SetupFailure(`${file} gives the user ${name} too few ids.`)
    await runCommand(program, [String(pid), ...map], { deadline })
  }
}

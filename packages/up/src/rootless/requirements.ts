/**
 * What Offshoot needs from a host on which its user is not root. Each check is independent of the others, so that the
 * user hears of everything at once.
 */
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { Deadline } from '@offshoot/kit/deadline'
import { canAccess } from '../base/can-access.ts'
import { runCommand } from '../base/run-command.ts'
import { firstFreeId, idMap, rangesOf, readSubordinateFile, SUBORDINATE_FILES } from './subordinate-ids.ts'

/** Debian packages that are needed without root only: newuidmap, and pasta. */
export const ROOTLESS_PACKAGES = ['uidmap', 'passt'] as const

const CHECK_MS = 20_000
/** As many as useradd(8) gives to a new user. */
const GIVEN_IDS = 65_536
const TUN = '/dev/net/tun'

/** Something that the host lacks. */
export interface Lack {
  /** A clause such as `the user ann has no subordinate ids`. */
  readonly what: string
  /** The command with which an administrator changes it. */
  readonly remedy: string
}

/** Whether this process needs the rootless mode. */
export function isRootless(): boolean {
  return process.getuid?.() !== 0
}

/** @returns everything beside Debian packages that this host lacks for the rootless mode; empty for root */
export async function rootlessLacks(cancelled?: AbortSignal): Promise<readonly Lack[]> {
  if (!isRootless()) return []
  const name = userName()
  const found = await Promise.all([lackOfNamespaces(cancelled), name === null ? null : lackOfIds(name), lackOfTun()])
  const unnamed = name === null ? namelessUser() : null
  return [unnamed, ...found].filter((lack) => lack !== null)
}

function userName(): string | null {
  try {
    return userInfo().username
  } catch {
    return null
  }
}

function namelessUser(): Lack {
  const id = process.getuid?.()
  return { what: `the user id ${id} has no name`, remedy: `useradd --uid ${id} NAME` }
}

/** Makes one, because the kernel, a container or AppArmor can forbid it. */
async function lackOfNamespaces(cancelled?: AbortSignal): Promise<Lack | null> {
  const deadline = Deadline.after(CHECK_MS, 'trial of a user namespace', cancelled)
  try {
    // With a network namespace: AppArmor allows the user namespace, but takes all rights in it.
    await runCommand('unshare', ['--user', '--net', 'true'], { deadline })
    return null
  } catch {
    deadline.throwIfOver()
    const settings = [
      ['/proc/sys/kernel/unprivileged_userns_clone', 'kernel.unprivileged_userns_clone=1'],
      ['/proc/sys/kernel/apparmor_restrict_unprivileged_userns', 'kernel.apparmor_restrict_unprivileged_userns=0'],
    ] as const
    const there = await Promise.all(settings.map(([path]) => canAccess(path)))
    const own = settings.filter((_setting, at) => there[at]).map(([, setting]) => setting)
    const wanted = ['user.max_user_namespaces=15000', ...own]
    return { what: 'this host does not let users make namespaces', remedy: `sysctl -w ${wanted.join(' ')}` }
  }
}

async function lackOfIds(name: string): Promise<Lack | null> {
  const [uids, gids] = await Promise.all(Object.values(SUBORDINATE_FILES).map(readSubordinateFile))
  const user = { name, id: process.getuid?.() ?? 0 }
  const options = [
    ['--add-subuids', uids],
    ['--add-subgids', gids],
  ].flatMap(([option = '', text = '']) => {
    if (idMap(user.id, rangesOf(text, user)) !== null) return []
    const first = firstFreeId(text)
    return [`${option} ${first}-${first + GIVEN_IDS - 1}`]
  })
  if (options.length === 0) return null
  return {
    what: `the user ${name} has too few ids in ${Object.values(SUBORDINATE_FILES).join(' or ')}`,
    remedy: `usermod ${options.join(' ')} ${name}`,
  }
}

async function lackOfTun(): Promise<Lack | null> {
  return access(TUN, constants.R_OK | constants.W_OK).then(
    () => null,
    ({ code }: NodeJS.ErrnoException) =>
      code === 'ENOENT'
        ? { what: `there is no ${TUN}`, remedy: 'modprobe tun' }
        : { what: `users cannot open ${TUN}`, remedy: `chmod 666 ${TUN}` },
  )
}

import { basename } from 'node:path'
import type { Accelerator } from '@offshoot/contract/agent-api'
import type { CgroupPlace } from '../host/cgroups.ts'
import { JAIL_BAKE, type Jail, joining } from '../host/jail.ts'
import { channelFolder } from './channel.ts'
import { CHANNELS, QMP_FD, TAP_FD } from './machine.ts'

/** The user, groups and jail of a QEMU. */
export interface Confinement {
  /** User and group of the process; `null` if the agent is not root and cannot change them. */
  readonly uid: number | null
  /** The group whose members may open KVM's device, if VMs need it: the only supplementary group. */
  readonly kvmGroup?: number | null
  /**
   * The kernel kills the process when the agent ends, even by a kill: no later agent would know it. Sandboxes outlive the
   * agent.
   */
  readonly diesWithAgent?: boolean
  /** The jail of the process; `null` or absent if the host does not allow namespaces. Needs a user. */
  readonly jail?: Jail | null
  /** The control groups of a process in a jail, from its start. Without a jail the agent moves it later. */
  readonly cgroup?: CgroupPlace | null
}

/** A QEMU and the settings of its jail. */
export interface Jailed {
  readonly line: ProgramLine
  readonly jail: Jail
  readonly confinement: Confinement
  /** Its working directory on the host. */
  readonly folder: string
  /** The folder of its bake; `null`: none. */
  readonly bake: string | null
  readonly accelerator: Accelerator
  /** Name of a TAP of the host. */
  readonly tap: string | null
  /** The descriptor that gets QEMU's process id. */
  readonly reportFd: number
}

export interface ProgramLine {
  readonly program: string
  readonly args: readonly string[]
}

/**
 * The program that starts `line` without privileges: under its own user and group, without capabilities, and without a way
 * to gain any. `setpriv` (util-linux) also drops the bounding set, which QEMU's own `-run-with user=` does not.
 */
export function confine(line: ProgramLine, { uid, kvmGroup = null, diesWithAgent = false }: Confinement): ProgramLine {
  // A change of user clears the signal (prctl(2), PR_SET_PDEATHSIG); setpriv sets it after that.
  const death = diesWithAgent ? ['--pdeathsig=KILL'] : []
  const privileges = ['--no-new-privs', '--inh-caps=-all', ...death]
  if (uid === null) return { program: 'setpriv', args: [...privileges, line.program, ...line.args] }
  const groups = kvmGroup === null ? '--clear-groups' : `--groups=${kvmGroup}`
  const user = [`--reuid=${uid}`, `--regid=${uid}`, groups, '--bounding-set=-all']
  return { program: 'setpriv', args: [...user, ...privileges, line.program, ...line.args] }
}

/** The launcher's command line (native/jail.c). */
export function imprison({ line, jail, confinement, folder, bake, accelerator, tap, reportFd }: Jailed): ProgramLine {
  const { uid, cgroup = null, diesWithAgent = false } = confinement
  if (uid === null) throw new Error('a jail needs a user for its process')
  // Relative to the launcher's working directory, because the path of a socket must be short.
  const channel = `../${basename(channelFolder(folder))}`
  const sockets = Object.values(CHANNELS).flatMap(({ name, fd }) => ['--listen', `${channel}/${name}`, String(fd)])
  const options = [
    [
      '--root',
      jail.root,
      '--uid',
      String(uid),
      '--vm',
      '--files',
      String(reportFd - QMP_FD),
      '--report',
      String(reportFd),
    ],
    bake === null ? [] : ['--bind', bake, JAIL_BAKE],
    accelerator === 'kvm' ? ['--kvm'] : [],
    diesWithAgent ? ['--with-parent'] : [],
    tap === null ? [] : ['--tap', tap, String(TAP_FD)],
    sockets,
    joining(cgroup),
  ]
  return { program: jail.launcher, args: [...options.flat(), '--', line.program, ...line.args] }
}

/** A TAP of the host, and the program that opens it for QEMU (native/with-tap.c). */
export interface TapGiver {
  readonly program: string
  readonly tap: string
}

/** The program that starts `line` with a TAP as a descriptor. It opens the TAP while it still has the privileges for that. */
export function giveTap(line: ProgramLine, { program, tap }: TapGiver): ProgramLine {
  return { program, args: [tap, String(TAP_FD), line.program, ...line.args] }
}

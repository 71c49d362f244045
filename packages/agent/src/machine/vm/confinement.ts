import { basename } from 'node:path'
import type { Accelerator } from '@offshoot/contract/agent-api'
import type { CgroupPlace } from '../host/cgroups.ts'
import { JAIL_BAKE, type Jail, joining } from '../host/jail.ts'
import { channelFolder } from './channel.ts'
import { CHANNELS, QMP_FD, TAP_FD } from './machine.ts'

/** What QEMU may be on this host. */
export interface Confinement {
  /** User and group of the process; `null` where the agent is not root and can give none. */
  readonly uid: number | null
  /** The group whose members may open KVM's device, where a VM needs it: its only supplementary group. */
  readonly kvmGroup?: number | null
  /** The process is killed when the agent's process ends, however that ends: nobody would know of it. Sandboxes outlive the agent. */
  readonly diesWithAgent?: boolean
  /** What it is started in; `null` or absent where the host has no namespaces for it. Needs a user. */
  readonly jail?: Jail | null
  /** The control groups that it starts in, where it has a jail. Without one it is put there later. */
  readonly cgroup?: CgroupPlace | null
}

/** A QEMU and what its jail gives it. */
export interface Jailed {
  readonly line: ProgramLine
  readonly jail: Jail
  readonly confinement: Confinement
  /** Its working directory on the host. */
  readonly folder: string
  /** Folder of the bake that it reads; `null`: none. */
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
 * The program that starts `line` as nobody: own user and group, no capabilities now or ever, no way to regain any.
 * `setpriv` (util-linux) does what QEMU's own `-run-with user=` does not: it drops the bounding set too.
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
  // From the folder that the launcher works in: the path of a socket is short.
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

/** A TAP of the host, and the program that lets QEMU inherit it (native/with-tap.c). */
export interface TapGiver {
  readonly program: string
  readonly tap: string
}

/** The program that starts `line` with a TAP as a descriptor, before anything is taken from it that opening one needs. */
export function giveTap(line: ProgramLine, { program, tap }: TapGiver): ProgramLine {
  return { program, args: [tap, String(TAP_FD), line.program, ...line.args] }
}

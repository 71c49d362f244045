import { basename } from 'node:path'
import type { Accelerator } from '@offshoot/contract/agent-api'
import type { CgroupPlace } from '../host/cgroups.ts'
import { JAIL_BAKE, type Jail, joining } from '../host/jail.ts'
import { channelFolder } from './channel.ts'
import { CHANNELS, CONTINUED_FD, QMP_FD, TAP_FD, ZYGOTE_CHANNEL } from './machine.ts'

/**
 * Milliseconds for which a guest under emulation runs before another one's turn, if all CPUs are busy. At each turn, a timer
 * interrupt waits for the guest, which is much work for an emulated CPU (docs/adr/0069-turns-of-guests.md).
 */
const TURN_MS = 12

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
  /** The file with the end of the host's lease, without which a process in a jail does not run; `null` or absent: it needs none. */
  readonly lease?: string | null
}

/** The settings of a jail. */
export interface Jailed {
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
  /** It will be a zygote (native/zygote.c). */
  readonly makesChildren?: boolean
}

/** What a child of a zygote has of each of the zygote's descriptors (native/jail-zygote.c). */
export interface ChildDescriptors {
  /** Pairs of a descriptor of the launcher, and the one of the zygote that it replaces. */
  readonly over: readonly (readonly [number, number])[]
  /** Event counters, which the child gets anew. */
  readonly renewed: readonly number[]
  /** The same in both. */
  readonly shared: readonly number[]
  /** The socket on which it serves images of its memory (native/memory-image.c); `null`: it makes none. */
  readonly images: number | null
  /** How many layers the memory of the VM that it continues has, in the descriptors from CONTINUED_FD on; `null`: it continues none. */
  readonly memoryLayers: number | null
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

/** The launcher's command line for a QEMU (native/jail.c). */
export function imprison(line: ProgramLine, jailed: Jailed): ProgramLine {
  // Children of a zygote have its turns.
  const turns = jailed.accelerator === 'tcg' ? ['--batch', String(TURN_MS)] : []
  return { program: jailed.jail.launcher, args: [...jailArguments(jailed), ...turns, '--', line.program, ...line.args] }
}

/**
 * The launcher's command line for a child of a zygote.
 * @param socket of the zygote, relative to the child's folder because the path of a socket must be short
 */
export function imprisonChild(
  zygote: { readonly socket: string; readonly pid: number },
  { over, renewed, shared, images, memoryLayers }: ChildDescriptors,
  jailed: Jailed,
): ProgramLine {
  const descriptors = [
    over.flatMap((pair) => ['--over', ...pair.map(String)]),
    renewed.flatMap((fd) => ['--renew', String(fd)]),
    shared.flatMap((fd) => ['--share', String(fd)]),
    images === null ? [] : ['--images', String(images)],
    memoryLayers === null ? [] : ['--continue', String(CONTINUED_FD), String(memoryLayers)],
  ]
  const args = [...jailArguments(jailed), '--zygote', zygote.socket, String(zygote.pid), ...descriptors.flat()]
  return { program: jailed.jail.launcher, args }
}

function jailArguments({
  jail,
  confinement,
  folder,
  bake,
  accelerator,
  tap,
  reportFd,
  makesChildren,
}: Jailed): string[] {
  const { uid, cgroup = null, diesWithAgent = false, lease = null } = confinement
  if (uid === null) throw new Error('a jail needs a user for its process')
  // Relative to the launcher's working directory, because the path of a socket must be short.
  const channel = `../${basename(channelFolder(folder))}`
  const sockets = [...Object.values(CHANNELS), ...(makesChildren === true ? [ZYGOTE_CHANNEL] : [])]
  return [
    ['--root', jail.root, '--uid', String(uid), '--vm'],
    ['--files', String(reportFd - QMP_FD), '--report', String(reportFd)],
    bake === null ? [] : ['--bind', bake, JAIL_BAKE],
    accelerator === 'kvm' ? ['--kvm'] : [],
    diesWithAgent ? ['--with-parent'] : [],
    lease === null ? [] : ['--lease', lease],
    makesChildren === true ? ['--makes-children'] : [],
    tap === null ? [] : ['--tap', tap, String(TAP_FD)],
    sockets.flatMap(({ name, fd }) => ['--listen', `${channel}/${name}`, String(fd)]),
    joining(cgroup),
  ].flat()
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

import { TAP_FD } from './machine.ts'

/** What QEMU may be on this host. */
export interface Confinement {
  /** User and group of the process; `null` where the agent is not root and can give none. */
  readonly uid: number | null
  /** The group whose members may open KVM's device, where a VM needs it: its only supplementary group. */
  readonly kvmGroup?: number | null
  /** The process is killed when the agent's process ends, however that ends: nobody would know of it. Sandboxes outlive the agent. */
  readonly diesWithAgent?: boolean
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

/** A TAP of the host, and the program that lets QEMU inherit it (native/with-tap.c). */
export interface TapGiver {
  readonly program: string
  readonly tap: string
}

/** The program that starts `line` with a TAP as a descriptor, before anything is taken from it that opening one needs. */
export function giveTap(line: ProgramLine, { program, tap }: TapGiver): ProgramLine {
  return { program, args: [tap, String(TAP_FD), line.program, ...line.args] }
}

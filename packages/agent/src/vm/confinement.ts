/** What QEMU may be on this host. */
export interface Confinement {
  /** User and group of the process; `null` where the agent is not root and can give none. */
  readonly uid: number | null
}

export interface ProgramLine {
  readonly program: string
  readonly args: readonly string[]
}

/**
 * The program that starts `line` as nobody: own user and group, no capabilities now or ever, no way to regain any.
 * `setpriv` (util-linux) does what QEMU's own `-run-with user=` does not: it drops the bounding set too.
 */
export function confine(line: ProgramLine, { uid }: Confinement): ProgramLine {
  const privileges = ['--no-new-privs', '--inh-caps=-all']
  if (uid === null) return { program: 'setpriv', args: [...privileges, line.program, ...line.args] }
  const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--bounding-set=-all']
  return { program: 'setpriv', args: [...user, ...privileges, line.program, ...line.args] }
}

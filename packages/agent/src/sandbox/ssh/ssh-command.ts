import { constants } from 'node:os'
import type { SshStart } from '@offshoot/contract/ssh-stream'
import type { GuestCommand } from '@offshoot/guest-link/guest-command'
import { GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestProcess } from '@offshoot/guest-link/guest-process'
import { ApiError } from '@offshoot/contract/errors'
import { accountOf, guestDeadline, withGuest, withTemplateDefaults } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** A program with its first arguments, without the user's command. */
interface Program {
  readonly program: string
  readonly argv: readonly string[]
}

/** In order of preference. Only trying tells which ones a template has. */
const SHELLS = ['/bin/bash', '/bin/sh'] as const
/** Where distributions install OpenSSH's server for files. */
const SFTP_SERVERS = [
  '/usr/lib/openssh/sftp-server',
  '/usr/libexec/sftp-server',
  '/usr/lib/ssh/sftp-server',
  '/usr/libexec/openssh/sftp-server',
] as const

/**
 * Starts the command of an SSH session. Wakes the sandbox.
 * @throws ApiError 400 for an unknown user or a template without an SFTP server, and as every operation in a guest
 */
export function startSshCommand(sandbox: Sandbox, start: SshStart): Promise<GuestProcess> {
  const { kind, user, pty, env } = start
  const account = accountOf(withTemplateDefaults(sandbox, { user: user ?? undefined, cwd: undefined, env }))
  const common = { ...account, ...(pty !== null && { pty }) }
  return withGuest(sandbox, async (link) => {
    const run = (command: GuestCommand) => link.run(command, guestDeadline('start of a command'))
    const process = await runFirst(programsFor(start), (program) => run({ ...common, ...program }))
    if (process !== null) return process
    const missing =
      kind === 'sftp' ? 'SFTP server: use the HTTP API, or rsync and "scp -O" where the template has them' : 'shell'
    throw new ApiError('invalidField', { error: `the template has no ${missing}` })
  })
}

function programsFor({ kind, command }: SshStart): readonly Program[] {
  if (kind === 'sftp') return SFTP_SERVERS.map((program) => ({ program, argv: ['sftp-server'] }))
  return SHELLS.map((program) => {
    const name = program.slice(program.lastIndexOf('/') + 1)
    // A shell whose first argument starts with a dash is a login shell (login(1)).
    return { program, argv: kind === 'shell' ? [`-${name}`] : [name, '-c', command] }
  })
}

/** `null` if the guest has none of the programs. */
async function runFirst(
  programs: readonly Program[],
  run: (program: Program) => Promise<GuestProcess>,
): Promise<GuestProcess | null> {
  for (const program of programs) {
    try {
      return await run(program)
    } catch (error) {
      if (!(error instanceof GuestRunError) || error.errno !== constants.errno.ENOENT) throw error
      // An unknown user and a missing folder have the same error number.
      if (!error.message.includes(program.program)) throw error
    }
  }
  return null
}

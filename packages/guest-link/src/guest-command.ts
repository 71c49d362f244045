import { constants } from 'node:os'
import {
  GUEST_ARGUMENTS_MAX,
  GUEST_ENVIRONMENT_MAX_ENTRIES,
  GUEST_MESSAGE_MAX_BYTES,
  RunOption,
} from '@offshoot/contract/guest-frame'
import { GuestRunError } from './guest-link-error.ts'
import type { TerminalSize } from './terminal-size.ts'

/** A command to run in the guest. */
export interface GuestCommand {
  /** The program and its arguments: at least one string. */
  readonly argv: readonly string[]
  /**
   * The program when it is not `argv[0]`: a login shell has `argv[0]` `-bash` and program `/bin/bash`. The guest looks
   * up a program without a slash in the PATH of the command.
   */
  readonly program?: string
  /** An absolute path. Default: the user's home, or `/` where that does not exist. */
  readonly cwd?: string
  /** Added to the variables of the account and of the sandbox. Overrides both. */
  readonly env?: Readonly<Record<string, string>>
  /** Name or number. Default: root. */
  readonly user?: string
  /** `none`: the command reads from /dev/null, and {@link GuestProcess.stdin} is closed. Default: `pipe`. */
  readonly stdin?: 'pipe' | 'none'
  /**
   * Gives the command a controlling terminal of this size. All its output is then stdout. The byte that the terminal's
   * settings name (4, Ctrl-D) ends its input; `stdin.end()` has no effect. The caller sets TERM in {@link env}.
   */
  readonly pty?: TerminalSize
}

/** Options of a kept command. */
export interface KeptOptions {
  readonly id: string
  readonly label: string
  readonly logBytes: number
  /** The command waits while an attachment has not read what its log would drop. Early guests refuse it (EINVAL). */
  readonly waits?: boolean | undefined
}

/** The strings of an environment, each `KEY=value`. */
export function environmentStrings(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).map(([key, value]) => `${key}=${value}`)
}

/** The payload of RUN. @throws GuestRunError E2BIG or EINVAL for a command that the guest would refuse */
export function encodeCommand(command: GuestCommand, kept?: KeptOptions): Uint8Array {
  const options =
    (command.pty === undefined ? 0 : RunOption.terminal) |
    (kept === undefined ? 0 : RunOption.keep) |
    (kept?.waits === true ? RunOption.wait : 0)
  return encodeRun({
    options,
    size: command.pty ?? { rows: 0, cols: 0 },
    logBytes: kept?.logBytes ?? 0,
    fixed: [command.user ?? '', command.cwd ?? '', command.program ?? '', kept?.id ?? '', kept?.label ?? ''],
    argv: command.argv,
    env: environmentStrings(command.env ?? {}),
  })
}

export interface BuiltinUser {
  /** Default: root. */
  readonly user: string | undefined
  /** Root's rights apply, and the user owns what the builtin makes and writes. */
  readonly isOwner: boolean
}

/** The payload of RUN for a builtin, whose arguments may be bytes. @throws GuestRunError as {@link encodeCommand} */
export function encodeBuiltin(
  name: string,
  argv: readonly (string | Uint8Array)[],
  { user = '', isOwner }: BuiltinUser,
): Uint8Array {
  return encodeRun({
    options: RunOption.builtin | (isOwner ? RunOption.owner : 0),
    size: { rows: 0, cols: 0 },
    logBytes: 0,
    fixed: [user, '', name, '', ''],
    argv,
    env: [],
  })
}

interface Run {
  readonly options: number
  readonly size: TerminalSize
  readonly logBytes: number
  /** The strings in front of the arguments: user, cwd, program, kept id, label. */
  readonly fixed: readonly string[]
  readonly argv: readonly (string | Uint8Array)[]
  readonly env: readonly string[]
}

const FIXED_BYTES = 14
const NUL = Buffer.alloc(1)

function encodeRun({ options, size, logBytes, fixed, argv, env }: Run): Uint8Array {
  if (argv.length === 0) throw new GuestRunError(constants.errno.EINVAL, 'command: no program')
  if (argv.length > GUEST_ARGUMENTS_MAX || env.length > GUEST_ENVIRONMENT_MAX_ENTRIES) throw tooLong()
  const strings = [...fixed, ...argv, ...env].map((string) => Buffer.from(string as string))
  if (strings.some((string) => string.includes(0))) {
    throw new GuestRunError(constants.errno.EINVAL, 'command: a string contains NUL')
  }
  const head = Buffer.alloc(FIXED_BYTES)
  head.writeUInt16LE(options, 0)
  head.writeUInt16LE(size.rows, 2)
  head.writeUInt16LE(size.cols, 4)
  head.writeUInt32LE(logBytes, 6)
  head.writeUInt16LE(argv.length, 10)
  head.writeUInt16LE(env.length, 12)
  const message = Buffer.concat([head, ...strings.flatMap((string) => [string, NUL])])
  if (message.length > GUEST_MESSAGE_MAX_BYTES) throw tooLong()
  return message
}

const tooLong = () => new GuestRunError(constants.errno.E2BIG, 'command: too long')

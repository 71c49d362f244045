import { constants } from 'node:os'
import {
  GUEST_ARGUMENTS_MAX,
  GUEST_ENVIRONMENT_MAX_ENTRIES,
  GUEST_MESSAGE_MAX_BYTES,
} from '@offshoot/contract/guest-frame'
import { GuestRunError } from './guest-link-error.ts'

/** A command to run in the guest. */
export interface GuestCommand {
  /** Program and arguments, at least one; a program without a slash is looked up in the PATH of the command. */
  readonly argv: readonly string[]
  /** Absolute folder; default the user's home, or `/` where that does not exist. */
  readonly cwd?: string
  /** Added to the account's and the sandbox's variables, and wins over both. */
  readonly env?: Readonly<Record<string, string>>
  /** Name or number; default root. */
  readonly user?: string
  /** `none`: the command reads from /dev/null and {@link GuestProcess.stdin} is closed from the start. Default `pipe`. */
  readonly stdin?: 'pipe' | 'none'
}

/** The strings of an environment, each `KEY=value`. */
export function environmentStrings(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).map(([key, value]) => `${key}=${value}`)
}

/** @throws GuestRunError E2BIG or EINVAL, for what the guest could only refuse. */
export function encodeCommand(command: GuestCommand): Uint8Array {
  const env = environmentStrings(command.env ?? {})
  if (command.argv.length === 0) throw new GuestRunError(constants.errno.EINVAL, 'command: no program')
  if (command.argv.length > GUEST_ARGUMENTS_MAX || env.length > GUEST_ENVIRONMENT_MAX_ENTRIES) throw tooLong()
  const strings = [command.user ?? '', command.cwd ?? '', ...command.argv, ...env]
  if (strings.some((string) => string.includes('\0'))) {
    throw new GuestRunError(constants.errno.EINVAL, 'command: a string contains NUL')
  }
  const text = Buffer.from(`${strings.join('\0')}\0`)
  const message = Buffer.allocUnsafe(4 + text.length)
  if (message.length > GUEST_MESSAGE_MAX_BYTES) throw tooLong()
  message.writeUInt16LE(command.argv.length, 0)
  message.writeUInt16LE(env.length, 2)
  text.copy(message, 4)
  return message
}

const tooLong = () => new GuestRunError(constants.errno.E2BIG, 'command: too long')

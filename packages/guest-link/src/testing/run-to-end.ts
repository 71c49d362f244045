import { buffer } from 'node:stream/consumers'
import type { GuestCommand } from '../guest-command.ts'
import type { GuestExit } from '../guest-process.ts'
import type { GuestLink } from '../link.ts'
import { deadlineFor } from './host-guest.ts'

/** The whole output of a command, and how it ended. */
export interface RunResult extends GuestExit {
  readonly stdout: Buffer
  readonly stderr: Buffer
}

export async function runToEnd(
  link: GuestLink,
  script: string,
  options: Omit<GuestCommand, 'argv'> & { readonly input?: Uint8Array | string } = {},
): Promise<RunResult> {
  const { input, ...command } = options
  const stdin = input === undefined ? 'none' : 'pipe'
  const child = await link.run({ argv: ['sh', '-c', script], stdin, ...command })
  if (input !== undefined) child.stdin.end(input)
  const [stdout, stderr, exit] = await deadlineFor(script).race(
    Promise.all([buffer(child.stdout), buffer(child.stderr), child.exited]),
  )
  return { stdout, stderr, ...exit }
}

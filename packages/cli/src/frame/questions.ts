import type { Readable, Writable } from 'node:stream'
import type { Cli } from './cli.ts'
import { EXIT, Failure, UsageError } from './failure.ts'

/** Maximum characters of a key or password on the standard input. */
const MAX_LINE = 4096

/** Whether a person can answer. */
export function isInteractive({ streams: { stdin, stderr } }: Cli): boolean {
  return stdin.isTTY && stderr.isTTY === true
}

/** The first line of the standard input, without its end. */
export async function firstLineOfStdin(cli: Cli): Promise<string> {
  let text = ''
  for await (const chunk of cli.streams.stdin) {
    text += String(chunk)
    if (text.includes('\n') || text.length > MAX_LINE) break
  }
  return text.split(/\r?\n/, 1)[0] ?? ''
}

/** Questions go to the standard error, so that the result stays alone on the standard output. */
function streams(cli: Cli): { input: Readable; output: Writable; signal: AbortSignal } {
  return { input: cli.streams.stdin, output: cli.streams.stderr, signal: cli.signal }
}

export async function ask(cli: Cli, message: string): Promise<string> {
  const { text } = await import('@clack/prompts')
  return answered(
    await text({ message, ...streams(cli), validate: (value) => (value ? undefined : 'Type something.') }),
  )
}

/** A question whose answer does not appear on the screen. */
export async function askSecret(cli: Cli, message: string): Promise<string> {
  const { password } = await import('@clack/prompts')
  return answered(await password({ message, ...streams(cli) }))
}

export async function choose(cli: Cli, message: string, options: { value: string; label: string }[]): Promise<string> {
  const { select } = await import('@clack/prompts')
  return answered(await select({ message, options, ...streams(cli) }))
}

/**
 * Asks before something is lost. Throws unless the user agrees.
 * @param yes `--yes`: the user has agreed already
 */
export async function confirmLoss(cli: Cli, message: string, yes: boolean): Promise<void> {
  if (yes) return
  if (!isInteractive(cli)) throw new UsageError(`${message}: confirm it with --yes`)
  const { confirm } = await import('@clack/prompts')
  const agreed = answered(await confirm({ message: `${message}. Continue?`, initialValue: false, ...streams(cli) }))
  if (!agreed) throw new Failure('nothing was deleted', { next: null })
}

/** Clack answers a symbol when the user leaves. */
function answered<T>(value: T): Exclude<T, symbol> {
  if (typeof value === 'symbol') throw new Failure('interrupted', { exitCode: EXIT.interrupted })
  return value as Exclude<T, symbol>
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Deadline } from '@offshoot/kit/deadline'

const OUTPUT_MAX_CHARS = 1024 * 1024
const TAIL_LINES = 12
const TERM_GRACE_MS = 5000

export interface CommandOptions {
  /** When it passes or is cancelled, the command and all its children are killed. */
  readonly deadline: Deadline
  readonly cwd?: string
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Written to standard input; empty if absent. */
  readonly input?: string
  /** Called for each line as it arrives. */
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void
}

/**
 * The command could not be started, or failed. The message contains the first line and the last lines of its output.
 */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

/** The first line of an output, which often names the cause, and the last lines. */
class Excerpt {
  #first: string | null = null
  readonly #last: string[] = []
  #leftOut = 0

  add(line: string): void {
    if (this.#last.push(line) <= TAIL_LINES) return
    const dropped = this.#last.shift() ?? ''
    if (this.#first === null) this.#first = dropped
    else this.#leftOut += 1
  }

  toString(): string {
    const start = this.#first === null ? [] : [this.#first]
    return [...start, ...(this.#leftOut > 0 ? ['…'] : []), ...this.#last].join('\n')
  }
}

/**
 * Runs a command to its end and returns its standard output (at most 1 MiB).
 *
 * The command leads its own process group: a Ctrl-C in the terminal reaches only us, and we end the group in order. It
 * also gets a signal when this process dies (setpriv --pdeathsig), so that no orphan continues to write.
 */
export async function runCommand(file: string, args: readonly string[], options: CommandOptions): Promise<string> {
  options.deadline.throwIfOver()
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', file, ...args], {
    cwd: options.cwd,
    env: { ...process.env, LC_ALL: 'C.UTF-8', ...options.env },
    detached: true,
    stdio: 'pipe',
  })
  child.stdin.on('error', () => undefined) // a command may ignore its input
  child.stdin.end(options.input ?? '')

  let output = ''
  const excerpt = new Excerpt()
  const hear = (line: string, stream: 'stdout' | 'stderr') => {
    excerpt.add(line)
    options.onLine?.(line, stream)
  }
  createInterface(child.stderr).on('line', (line) => hear(line, 'stderr'))
  createInterface(child.stdout).on('line', (line) => {
    if (output.length < OUTPUT_MAX_CHARS) output += `${line}\n`
    hear(line, 'stdout')
  })

  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  try {
    const [code, signal] = await options.deadline.race(closed)
    if (code !== 0)
      throw new CommandFailed(`${file} ended with ${signal ?? `exit code ${code}`}: ${excerpt.toString()}`)
    return output
  } catch (error) {
    if (child.exitCode === null && child.signalCode === null) await endGroup(child.pid, closed)
    throw error
  }
}

async function endGroup(leader: number | undefined, closed: Promise<unknown>): Promise<void> {
  if (leader === undefined) return // it did not start
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      process.kill(-leader, signal)
    } catch {
      // the group has ended already
    }
  }
  signalGroup('SIGTERM')
  const kill = setTimeout(() => signalGroup('SIGKILL'), TERM_GRACE_MS)
  await closed.catch(() => undefined)
  clearTimeout(kill)
}

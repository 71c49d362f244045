import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Deadline } from '@offshoot/kit/deadline'

const OUTPUT_MAX_CHARS = 1024 * 1024
const TAIL_LINES = 12
const TERM_GRACE_MS = 5000

export interface CommandOptions {
  /** Bounds the run; the command and all it started are ended when it passes or is cancelled. */
  readonly deadline: Deadline
  readonly cwd?: string
  /** Added to our own environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Given on standard input; nothing otherwise. */
  readonly input?: string
  /** Hears every line as it comes. */
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void
}

/** The command could not be started, was ended by a signal or exited with something else than 0; the message ends with its last words. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  /** The last lines it wrote, to either output. */
  readonly lastLines: readonly string[]

  constructor(file: string, how: string, lastLines: readonly string[]) {
    super(`${file} ended with ${how}: ${lastLines.join('\n')}`)
    this.lastLines = lastLines
  }
}

/**
 * Runs a command to its end and returns its standard output (at most 1 MiB of it).
 *
 * It leads its own process group, so that a Ctrl-C in the terminal reaches us alone and we end the whole group in order;
 * and it is told to end when this process dies (setpriv --pdeathsig), so that a killed run leaves nobody writing.
 */
export async function runCommand(file: string, args: readonly string[], options: CommandOptions): Promise<string> {
  options.deadline.throwIfOver()
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', file, ...args], {
    cwd: options.cwd,
    env: { ...process.env, LC_ALL: 'C.UTF-8', ...options.env },
    detached: true,
    stdio: 'pipe',
  })
  child.stdin.on('error', () => undefined) // a command that does not read its input is no failure
  child.stdin.end(options.input ?? '')

  let output = ''
  const tail: string[] = []
  const hear = (line: string, stream: 'stdout' | 'stderr') => {
    tail.push(line)
    if (tail.length > TAIL_LINES) tail.shift()
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
    if (code !== 0) throw new CommandFailed(file, signal ?? `exit code ${code}`, tail)
    return output
  } catch (error) {
    if (child.exitCode === null && child.signalCode === null) await endGroup(child.pid, closed)
    throw error
  }
}

async function endGroup(leader: number | undefined, closed: Promise<unknown>): Promise<void> {
  if (leader === undefined) return // never started
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      process.kill(-leader, signal)
    } catch {
      // the group is gone already
    }
  }
  signalGroup('SIGTERM')
  const kill = setTimeout(() => signalGroup('SIGKILL'), TERM_GRACE_MS)
  await closed.catch(() => undefined)
  clearTimeout(kill)
}

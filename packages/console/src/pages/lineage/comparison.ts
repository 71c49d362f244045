import { type CommandLine, type Offshoot } from '@offshoot/sdk'

/** What a command did in one sandbox. */
export type Outcome =
  | { readonly state: 'running' }
  | { readonly state: 'failed'; readonly error: unknown }
  | {
      readonly state: 'ended'
      readonly exitCode: number | null
      readonly stdout: string
      readonly stderr: string
      readonly durationMs: number
    }

/** Commands that run at the same time. */
const CONCURRENCY = 8
/** Characters of an output that are kept. */
const MAX_OUTPUT = 200_000

/** Runs one command in several sandboxes. An abort kills those that still run. */
export async function runInAll(
  api: Offshoot,
  ids: readonly string[],
  command: CommandLine,
  report: (id: string, outcome: Outcome) => void,
  signal: AbortSignal,
): Promise<void> {
  const queue = [...ids]
  const work = async () => {
    for (let id = queue.shift(); id !== undefined && !signal.aborted; id = queue.shift()) {
      report(id, { state: 'running' })
      try {
        const sandbox = await api.sandboxes.get(id, { signal })
        const { stdout, stderr, exitCode, durationMs } = await sandbox.exec(command, { signal })
        report(id, {
          state: 'ended',
          exitCode,
          durationMs,
          stdout: stdout.slice(0, MAX_OUTPUT),
          stderr: stderr.slice(0, MAX_OUTPUT),
        })
      } catch (error) {
        report(id, { state: 'failed', error })
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}

/** Ids with the same result (exit code and both outputs), the largest group first. */
export function groups(outcomes: ReadonlyMap<string, Outcome>): readonly (readonly string[])[] {
  const keyOf = (outcome: Outcome) =>
    outcome.state === 'ended' ? JSON.stringify([outcome.exitCode, outcome.stdout, outcome.stderr]) : outcome.state
  const found = Map.groupBy(outcomes.keys(), (id) => keyOf(outcomes.get(id) as Outcome))
  return [...found.values()].toSorted((a, b) => b.length - a.length)
}

/** A changed file: its size in bytes, and when its content changed, in seconds since 1970. */
export interface ChangedFile {
  readonly size: number
  readonly changedAt: number
}

/** What says nothing about what a program did: folders of the kernel, and files that every fork gets anew. */
const LEFT_OUT = [
  '/proc',
  '/sys',
  '/dev',
  '/run',
  ...['hostname', 'hosts', 'machine-id', 'resolv.conf'].map((name) => `/etc/${name}`),
]

/**
 * Lists the files whose content changed less than `$1` minutes ago: time, size and name, one per line. Both GNU's
 * and BusyBox's `find` and `stat` know these options.
 */
const LIST_CHANGED = `find / -xdev \\( ${LEFT_OUT.map((path) => `-path ${path}`).join(' -o ')} \\) -prune -o -type f -mmin -"$1" -exec stat -c '%Y %s %n' {} +`

/** The files of a sandbox whose content changed since a time. */
export async function changedFiles(
  api: Offshoot,
  id: string,
  since: Date,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ChangedFile>> {
  const minutes = Math.ceil((Date.now() - since.getTime()) / 60_000) + 1
  const sandbox = await api.sandboxes.get(id, { signal })
  const { stdout } = await sandbox.exec(['sh', '-c', LIST_CHANGED, 'sh', String(minutes)], { signal })
  return parseChanged(stdout, Math.floor(since.getTime() / 1000))
}

/** @param since seconds since 1970 */
export function parseChanged(text: string, since: number): ReadonlyMap<string, ChangedFile> {
  const found = new Map<string, ChangedFile>()
  for (const line of text.split('\n')) {
    const [, changedAt, size, name] = /^(\d+) (\d+) (\/.*)$/.exec(line) ?? []
    if (name === undefined || Number(changedAt) < since) continue
    found.set(name, { size: Number(size), changedAt: Number(changedAt) })
  }
  return found
}

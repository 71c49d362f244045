import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench } from './benches.ts'
import type { Figure } from './measure.ts'

const RUN_BENCH = join(import.meta.dirname, 'run-bench.ts')
const BENCHES = join(import.meta.dirname, 'benches.ts')
const RELEASE_MS = 60_000

/** The message of `run-bench.ts` before it exits. JSON turns `NaN` into `null`. */
export type BenchAnswer = { readonly figures: Record<string, Figure> } | { readonly reason: string }

export interface RunOptions {
  readonly withinMs: number
  /** Milliseconds of each series of rounds; `null`: the bench's default. */
  readonly roundsMs: number | null
  readonly stop: AbortSignal
  /** Milliseconds for a stopped bench to end its VMs, agents and servers. */
  readonly releaseMs?: number
  /** The module that exports the bench. */
  readonly module?: string
}

/**
 * Runs a bench in its own process group, with a folder for temporary files. When this returns or throws, all processes
 * of the group have ended.
 * @throws Error that says why there are no figures
 */
export async function runInChild(bench: Bench, dataDir: string, options: RunOptions): Promise<Record<string, Figure>> {
  const [name] = bench.names
  const folder = await mkdtemp(join(dataDir, 'tmp-'))
  // A bench's own agent runs its VMs under other user ids, which need to traverse this folder.
  await chmod(folder, 0o711)
  const child = spawn(process.execPath, [RUN_BENCH, options.module ?? BENCHES, name, dataDir], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      ...process.env,
      TMPDIR: folder,
      ...(options.roundsMs === null ? {} : { OFFSHOOT_BENCH_ROUNDS_MS: String(options.roundsMs) }),
    },
  })
  try {
    return checked(bench, await answerOf(child, options))
  } finally {
    killGroup(child)
    await rm(folder, { recursive: true, force: true })
  }
}

async function answerOf(
  child: ChildProcess,
  { withinMs, stop, releaseMs = RELEASE_MS }: RunOptions,
): Promise<BenchAnswer> {
  let answer: BenchAnswer | null = null
  child.once('message', (message) => {
    answer = message as BenchAnswer
  })
  const exited = once(child, 'exit').then(() => 'exited' as const)
  const late = AbortSignal.any([AbortSignal.timeout(Math.trunc(withinMs)), stop])
  const aborted = once(late, 'abort').then(() => 'late' as const)
  if ((await Promise.race([exited, aborted])) === 'late') {
    child.kill('SIGTERM')
    const timer = setTimeout(() => killGroup(child), releaseMs)
    await exited
    clearTimeout(timer)
    return { reason: stop.aborted ? 'stopped' : `hung: not done after ${Math.round(withinMs / 1000)} s` }
  }
  return answer ?? { reason: `its process ended with ${child.exitCode ?? child.signalCode} and no figures` }
}

/** Kills processes that the bench has started and left: QEMU and programs in its process group. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function checked({ names }: Bench, answer: BenchAnswer): Record<string, Figure> {
  if ('reason' in answer) throw new Error(answer.reason)
  const { figures } = answer
  // The bench was skipped, and printed the reason.
  if (Object.keys(figures).length === 0) return {}
  const missing = names.filter((name) => typeof figures[name]?.p50 !== 'number')
  if (missing.length > 0) throw new Error(`no attempt succeeded: ${missing.join(', ')}`)
  return figures
}

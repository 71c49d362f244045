import type { Cli } from './cli.ts'
import { Failure, failureLine } from './failure.ts'
import { withProgress } from './progress.ts'

/** Objects that are worked on at the same time. */
const AT_ONCE = 8

/**
 * Does the same with every object that a command line names. One that fails does not stop the others.
 * @returns the exit code of the first failure, or 0
 */
export async function forEach(
  cli: Cli,
  names: readonly string[],
  doing: string,
  work: (name: string) => Promise<void>,
): Promise<number> {
  const waiting = [...names]
  const failures: Failure[] = []
  const worker = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
      await work(name).catch(async (error: unknown) => {
        const { failureOf } = await import('./failure-of.ts')
        failures.push(failureOf(error))
      })
  }
  const workers = Array.from({ length: Math.min(AT_ONCE, waiting.length) }, worker)
  await withProgress(
    cli,
    names.length === 1 ? `${doing} ${names[0] ?? ''}` : `${doing} ${names.length} objects`,
    Promise.all(workers),
  )
  cli.signal.throwIfAborted()
  const [first] = failures
  if (first === undefined) return 0
  if (failures.length === 1) throw first
  for (const failure of failures) cli.out.note(failureLine(failure))
  return first.exitCode
}

/**
 * `run-bench.ts MODULE NAME DATA_DIR`: runs one bench against the server in that data directory, and sends the figures
 * to its parent.
 */
import { Offshoot } from '../tests/setup/offshoot.ts'
import type { Bench } from './benches.ts'
import { releaseAll } from './cleanup.ts'
import type { BenchAnswer } from './run-in-child.ts'

const [module = '', name = '', dataDir = ''] = process.argv.slice(2)

async function answerOf(): Promise<BenchAnswer> {
  try {
    const { benches } = (await import(module)) as { benches: readonly Bench[] }
    const bench = benches.find(({ names }) => names[0] === name)
    if (bench === undefined) throw new Error(`no bench is called ${name}`)
    const offshoot = bench.isStandalone ? Offshoot.at(dataDir) : await Offshoot.attach(dataDir)
    return { figures: await bench.run(offshoot) }
  } catch (error) {
    return { reason: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

async function end(): Promise<void> {
  await releaseAll()
  process.exit()
}

// The parent stops a bench that hangs. Without a parent, the figures have no receiver.
process.once('SIGTERM', () => void end())
process.once('disconnect', () => void end())
const answer = await answerOf()
process.send?.(answer, () => void end())

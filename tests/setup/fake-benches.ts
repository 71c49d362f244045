/** Benchmarks that end in each possible way, for the test of the benchmark runner. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../../bench/benches.ts'
import { hold } from '../../bench/cleanup.ts'
import { rounds, Samples } from '../../bench/measure.ts'

const forever = async () => new Promise<never>(() => setInterval(() => undefined, 1000))

/** Starts a child process, and writes its pid to the data directory. */
async function startChild(dataDir: string): Promise<void> {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
  await once(child, 'spawn')
  writeFileSync(join(dataDir, 'child.pid'), String(child.pid))
}

export const benches: readonly Bench[] = [
  {
    names: ['good'],
    run: async () => {
      const samples = new Samples()
      for (const round of rounds(3)) samples.add(round)
      return { good: samples.figure('ms') }
    },
  },
  {
    names: ['one_round'],
    run: async () => {
      const samples = new Samples()
      for (const round of rounds(3)) samples.add(round + 1)
      return { one_round: samples.figure('ms') }
    },
  },
  {
    names: ['throws'],
    run: async () => {
      throw new Error('the disk is full')
    },
  },
  { names: ['no_figure', 'second'], run: async () => ({ no_figure: new Samples().figure('ms') }) },
  { names: ['left_out'], run: async () => ({}) },
  { names: ['exits'], run: async () => process.exit(3) },
  {
    names: ['hangs'],
    run: async ({ dataDir }) => {
      await startChild(dataDir)
      writeFileSync(join(tmpdir(), 'left'), '')
      hold(async () => writeFileSync(join(dataDir, 'released'), ''))
      return forever()
    },
  },
  {
    names: ['blocks'],
    run: async ({ dataDir }) => {
      await startChild(dataDir)
      for (;;);
    },
  },
]

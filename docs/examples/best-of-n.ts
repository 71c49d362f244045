// An agent's loop: each round tries several next steps in forks of the same state, and continues from the best one.
import { type Branch, explore, Offshoot, type Sandbox } from '@offshoot/sdk'

/** What a model would propose, one list for each round. Replace it by a call of your model. */
const PROPOSALS = [
  ['echo 1 >> /work/numbers', 'echo 5 >> /work/numbers', 'rm -f /work/numbers'],
  ['echo 2 >> /work/numbers', 'cp /work/numbers /work/n; cat /work/n >> /work/numbers', 'exit 1'],
]

/** How good a state is: here the sum of the numbers in a file. For code it could be the number of tests that pass. */
const SCORE = 'awk "{ sum += \\$1 } END { print sum + 0 }" /work/numbers'

async function attempt(sandbox: Sandbox, command: string, signal: AbortSignal): Promise<number> {
  await sandbox.exec(command, { signal, check: true, timeoutSeconds: 60 })
  const { stdout } = await sandbox.exec(SCORE, { signal, check: true })
  return Number(stdout)
}

let current = await Offshoot.create({ template: 'minimal', ttlSeconds: 600 })
try {
  await current.exec('mkdir /work && echo 1 > /work/numbers', { check: true })
  for (const proposals of PROPOSALS) {
    const branches = proposals.map((command): Branch<number> => ({
      name: command,
      run: async (fork, signal) => attempt(fork, command, signal),
    }))
    const { best, branches: tried } = await explore(current, branches, { score: (sum) => sum, concurrency: 3 })
    for (const { name, outcome } of tried) console.log(outcome, name)
    if (best === null) throw new Error('every attempt failed')
    console.log('best:', best.name)
    await current.delete()
    current = best.sandbox
  }
  console.log('sum:', (await current.exec(SCORE)).stdout.trim())
} finally {
  await current.delete()
}

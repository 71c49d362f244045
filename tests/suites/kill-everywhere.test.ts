/** @module-tag long */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { untilConsistent } from '../setup/consistency.ts'
import { Offshoot } from '../setup/offshoot.ts'
import { SeededRandom } from '../setup/seeded-random.ts'
import { until } from '../setup/until.ts'
import { OPERATIONS } from './operations.ts'
import { Population } from './population.ts'

/** OFFSHOOT_KILL_ROUNDS: number of rounds without a time limit, each logged. OFFSHOOT_SEED: their order. */
const wanted = process.env['OFFSHOOT_KILL_ROUNDS']
const ROUNDS = Number(wanted ?? 60)
/** Default time limit, within which a slow machine runs fewer rounds. */
const BUDGET_MS = wanted === undefined ? 8_000 : Number.POSITIVE_INFINITY
/** Latest kill in milliseconds after the start of an operation. Most kills come early, because operations are short. */
const LATEST_KILL_MS = 300
const VICTIMS = ['agent', 'control', 'postgres', 'qemu'] as const

const random = SeededRandom.fromEnvironment()
let offshoot: Offshoot
let population: Population
beforeAll(async () => {
  offshoot = await Offshoot.start('kill-everywhere', { env: { OFFSHOOT_POOL_MIB: '128' } })
  population = new Population(offshoot, random)
})
afterAll(async () => {
  await offshoot?.destroy()
})

async function kill(victim: (typeof VICTIMS)[number], afterMs: number): Promise<void> {
  await delay(afterMs)
  if (victim !== 'qemu') return offshoot.killService(victim)
  const machines = await offshoot.virtualMachines()
  if (machines.length === 0) return
  const { pid, sandboxId } = random.pick(machines)
  population.shot.add(sandboxId)
  // It may have ended by itself.
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  // Its end takes a moment, during which rows and processes agree that it runs.
  await until('its end', async () => (await offshoot.virtualMachines()).every((machine) => machine.pid !== pid))
}

/** @returns a description of the round, and all losses */
async function playRound(round: number): Promise<{ what: string; losses: string[] }> {
  for (let few = population.members.size; few < 2; few++) population.add((await offshoot.create()).id, '')
  const [name, prepare] = random.pick(Object.entries(OPERATIONS))
  const victim = random.pick(VICTIMS)
  const killMs = LATEST_KILL_MS * random.fraction() ** 3
  const operation = await prepare({ offshoot, population, round })
  const [answer] = await Promise.all([operation.begin().catch(() => null), kill(victim, killMs)])
  const isAcknowledged = answer !== null && answer.status < 300
  if (isAcknowledged) operation.acknowledged(answer)
  else operation.interrupted()
  const outcome = isAcknowledged
    ? 'acknowledged'
    : `interrupted (${answer ? `${answer.status} ${answer.text}` : 'no answer'})`
  const what = `round ${round}: ${name}, ${victim} killed after ${killMs.toFixed()} ms: ${outcome}`
  await untilConsistent(offshoot).catch((error: Error) => {
    throw new Error(`${what}: ${error.message}`)
  })
  const losses = await population.examine()
  await population.thin()
  return { what, losses }
}

/** The agent's id is part of its cgroups' names. Other servers have cgroups in the same folder. */
async function agentId(): Promise<string> {
  const { agent_id: id } = JSON.parse(await readFile(join(offshoot.dataDir, 'agent/agent.json'), 'utf8'))
  return id
}

async function leftovers(): Promise<string[]> {
  const folders = await Promise.all(
    ['sandboxes', 'spares', 'snapshots', 'layers'].map(async (name) => readdir(join(offshoot.dataDir, 'agent', name))),
  )
  const ownGroup = `${await agentId()}-`
  const groups = await Promise.all(
    ['', 'memory', 'pids'].map(async (name) => readdir(join('/sys/fs/cgroup', name, 'offshoot')).catch(() => [])),
  )
  const machines = (await offshoot.virtualMachines()).map(({ sandboxId }) => `QEMU of ${sandboxId}`)
  const spares = (await offshoot.spareMachines()).map(({ name }) => `QEMU that waits in ${name}`)
  return [...folders.flat(), ...machines, ...spares, ...groups.flat().filter((name) => name.startsWith(ownGroup))]
}

it(
  `up to ${ROUNDS} operations, each with a kill -9 in the middle: what was acknowledged is there, and nothing else`,
  { tags: 'only-once', timeout: 300_000 + (wanted === undefined ? 0 : ROUNDS * 30_000) },
  async () => {
    const losses: string[] = []
    const tally = { acknowledged: 0, interrupted: 0 }
    const startedMs = performance.now()
    for (let round = 1; round <= ROUNDS && performance.now() - startedMs < BUDGET_MS; round++) {
      const beganMs = performance.now()
      const played = await playRound(round).catch((error: Error) => {
        throw new Error(`seed ${random.seed}, ${error.message}`, { cause: error })
      })
      tally[played.what.includes(': acknowledged') ? 'acknowledged' : 'interrupted'] += 1
      if (wanted !== undefined || played.losses.length > 0)
        console.log(`${played.what} [${(performance.now() - beganMs).toFixed()} ms]`)
      losses.push(...played.losses.map((loss) => `${played.what}: ${loss}`))
    }
    await population.clear()
    // A restarted agent has no demand for its warm pool, so it keeps no spare VMs.
    await offshoot.killService('agent')
    await until('nothing left', async () => (await leftovers()).length === 0, 60_000).catch(async (error: Error) => {
      losses.push(`${error.message}: ${(await leftovers()).join()}`)
    })
    const { acknowledged, interrupted } = tally
    const rounds = acknowledged + interrupted
    console.log(
      `${rounds} rounds, ${rounds} faults (${acknowledged} operations acknowledged, ${interrupted} not), ${losses.length} losses, seed ${random.seed}`,
    )
    expect(losses).toEqual([])
  },
)

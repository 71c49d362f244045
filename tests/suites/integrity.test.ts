/** @module-tag long */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { borrow, giveBack } from '../setup/server-pool.ts'
import type { Offshoot } from '../setup/offshoot.ts'
import { SeededRandom } from '../setup/seeded-random.ts'

/** OFFSHOOT_CYCLES: number of each kind. OFFSHOOT_SEED: their order. */
const CYCLES = Number(process.env['OFFSHOOT_CYCLES'] ?? 1)

interface Held {
  readonly memory: string
  readonly count: number
  readonly is_file_whole: boolean
  readonly child: string
  readonly child_pid: number
}

const random = SeededRandom.fromEnvironment()
let offshoot: Offshoot
let program = ''
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

const act = async (id: string, action: string) => {
  const answer = await offshoot.request('POST', `/v1/sandboxes/${id}/${action}`)
  if (answer.status >= 300) throw new Error(`${action} answered ${answer.status}: ${answer.text}`)
  return answer.body
}

const AWAIT = 'while [ ! -e /root/held-status ]; do sleep 0.02; done; cat /root/held-status'

async function startProgram(id: string): Promise<Held> {
  const source = await readFile(join(import.meta.dirname, 'live-state.py'), 'utf8')
  await offshoot.request('PUT', `/v1/sandboxes/${id}/fs?path=/root/live-state.py`, { body: source })
  const start = 'python3 /root/live-state.py </dev/null >/root/held-output 2>&1 & echo $!'
  program = (await offshoot.exec(id, start)).stdout.trim()
  return JSON.parse((await offshoot.exec(id, AWAIT, { timeout_seconds: 60 })).stdout) as Held
}

async function ask(id: string): Promise<Held> {
  const command = `rm -f /root/held-status; kill -USR1 ${program} || cat /root/held-output; ${AWAIT}`
  return JSON.parse((await offshoot.exec(id, command, { timeout_seconds: 60 })).stdout) as Held
}

/** Checks that the program continued from `before`: nothing is lost, and nothing is reverted. */
async function expectGoesOn(id: string, before: Held): Promise<Held> {
  const now = await ask(id)
  expect(now).toEqual({ ...before, count: expect.any(Number), is_file_whole: true })
  expect(now.count).toBeGreaterThan(before.count)
  return now
}

/** Checks both sandboxes, and deletes one of them at random. The other continues to the next cycle. */
async function goOnWithOneOf(ids: readonly [string, string], before: Held): Promise<[string, Held]> {
  const held = [await expectGoesOn(ids[0], before), await expectGoesOn(ids[1], before)] as const
  const [kept, ended] = random.pick([
    [0, 1],
    [1, 0],
  ] as const)
  await offshoot.delete(ids[ended])
  return [ids[kept], held[kept]]
}

const CYCLE: Record<string, (id: string, before: Held) => Promise<[string, Held]>> = {
  pause: async (id, before) => {
    await act(id, 'pause')
    await act(id, 'resume')
    return [id, await expectGoesOn(id, before)]
  },
  hibernate: async (id, before) => {
    await act(id, 'hibernate')
    await act(id, 'wake')
    return [id, await expectGoesOn(id, before)]
  },
  fork: async (id, before) => {
    const child = (await act(id, 'fork')) as { id: string }
    return goOnWithOneOf([id, child.id], before)
  },
  snapshot: async (id, before) => {
    const snapshot = (await act(id, 'snapshots')) as { id: string }
    const restored = await offshoot.create({ template: 'base', from_snapshot: snapshot.id })
    const outcome = await goOnWithOneOf([id, restored.id], before)
    expect((await offshoot.request('DELETE', `/v1/snapshots/${snapshot.id}`)).status).toBe(204)
    return outcome
  },
}

it(
  `memory, file, counter and child go on over ${CYCLES} cycles of each kind in any order`,
  { tags: 'only-once', timeout: 60_000 + CYCLES * 60_000 },
  async () => {
    let { id } = await offshoot.create({ template: 'base' })
    let held = await startProgram(id)
    expect(held.is_file_whole).toBe(true)
    const order = random.shuffled(Array.from({ length: CYCLES }, () => Object.entries(CYCLE)).flat())
    const kinds = order.map(([kind]) => kind)
    for (const [done, [, cycle]] of order.entries()) {
      const history = `seed ${random.seed}, cycle ${done + 1}: ${kinds.slice(0, done + 1).join(' ')}`
      ;[id, held] = await cycle(id, held).catch((error: Error) => {
        throw new Error(`${history}: ${error.message}`, { cause: error })
      })
    }
    console.log(`${order.length} cycles (${kinds.join(' ')}), counted to ${held.count}, seed ${random.seed}`)
    await offshoot.delete(id)
  },
)

/** @module-tag faults */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Fleet } from './fleet.ts'
import { EARLIER } from './release.ts'
import { Rounds } from './rounds.ts'

const ROUNDS = Number(process.env['OFFSHOOT_FLEET_ROUNDS'] ?? 3)
const LONGEST_FAULT_MS = Number(process.env['OFFSHOOT_FLEET_FAULT_MS'] ?? 3_000)

/** Others need the CPU, too. A step of a fault or a recovery takes longer. */
const PAUSE_MS = 250

const isRoot = process.getuid?.() === 0

describe.skipIf(!isRoot)('three hosts, two processes of control and two edges', () => {
  const fleet = new Fleet({ templates: ['minimal'], diskBytes: null, earlier: EARLIER })
  beforeAll(() => fleet.start())
  afterAll(() => fleet.destroy())

  it(
    `lose nothing and run nothing twice in ${ROUNDS} rounds of a fault`,
    { tags: 'only-once', timeout: 240_000 + ROUNDS * 120_000 },
    async () => {
      const rounds = new Rounds({
        fleet,
        hasDatabase: false,
        longestMs: LONGEST_FAULT_MS,
        pauseMs: PAUSE_MS,
        log: console.log,
      })
      for (let round = 1; round <= ROUNDS; round++) await rounds.play(round)
      expect(await rounds.end()).toEqual([])
      console.log(`seed ${rounds.random.seed}, ${JSON.stringify(rounds.history.counts)}`)
    },
  )
})

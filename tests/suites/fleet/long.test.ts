/** @module-tag long */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Fleet } from './fleet.ts'
import { canBuildObjectServer, ObjectServer } from './object-server.ts'
import { hasPatroni, PatroniCluster } from './patroni.ts'
import { hasRedis, Redis } from './redis.ts'
import { EARLIER } from './release.ts'
import { Rounds } from './rounds.ts'

/** OFFSHOOT_FLEET_ROUNDS: number of rounds. OFFSHOOT_FLEET_SEED: repeats an earlier run. */
const ROUNDS = Number(process.env['OFFSHOOT_FLEET_ROUNDS'] ?? 200)
const GIB = 1024 ** 3
/** Archives of databases leave 2 GiB free. */
const DISK_BYTES = 8 * GIB
const SMALL_DISK_BYTES = GIB

const isRoot = process.getuid?.() === 0

describe.skipIf(!isRoot)('three hosts, two processes of control, two edges, Patroni, S3 and Redis', () => {
  const fleet = new Fleet({
    templates: ['minimal', 'postgres-16'],
    diskBytes: DISK_BYTES,
    earlier: EARLIER,
    hasLeases: true,
    ...(hasPatroni && { database: (of, folder) => PatroniCluster.start(of, folder, SMALL_DISK_BYTES) }),
    companions: [
      ...(canBuildObjectServer ? [(of: Fleet) => ObjectServer.start(of, SMALL_DISK_BYTES)] : []),
      ...(hasRedis ? [(of: Fleet) => Redis.start(of)] : []),
    ],
  })
  beforeAll(() => fleet.start(), 900_000)
  afterAll(() => fleet.destroy())

  it(
    `lose nothing and run nothing twice in ${ROUNDS} rounds of a fault`,
    { tags: 'only-once', timeout: 600_000 + ROUNDS * 300_000 },
    async () => {
      const rounds = new Rounds({ fleet, hasDatabase: true, losesHosts: true, log: console.log })
      for (let round = 1; round <= ROUNDS; round++) await rounds.play(round)
      expect(await rounds.end()).toEqual([])
      console.log(`${ROUNDS} rounds, seed ${rounds.random.seed}, ${JSON.stringify(rounds.history.counts)}`)
    },
  )
})

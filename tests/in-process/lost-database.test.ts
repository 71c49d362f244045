/** @module-tag faults */
/** A client of a database whose host is lost, at an edge that asks control. The recovery itself has tests in control. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { databaseUser } from '@offshoot/contract/database'
import { DatabaseToLose, RecoveredServer } from '@offshoot/control/test/database-to-lose'
import { eventually } from '@offshoot/control/test/harness'
import { holdStep } from '@offshoot/control/test/hold-step'
import { EdgeUnderTest } from '@offshoot/edge/test/edge-under-test'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { EDGE_SECRET } from '../setup/preview-world.ts'

let server: RecoveredServer
let lost: DatabaseToLose
let edge: EdgeUnderTest

beforeAll(async () => {
  server = await RecoveredServer.start()
  lost = await DatabaseToLose.start(server, { edge_secret: EDGE_SECRET })
  const control = { url: lost.control.url, secret: EDGE_SECRET }
  // Tests listen at other ports.
  edge = await EdgeUnderTest.start({}, { control, databases: { listen: { host: '127.0.0.1', port: 1 }, suffix: null } })
  await once(front().server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(async () => {
  await edge.stop()
  await lost.stop()
  await server.stop()
})

function front() {
  const { databases } = edge.edge
  if (databases === null) throw new Error('the edge has no databases')
  return databases
}

/** The SQLSTATE and the message that a client gets. */
async function refusal(id: string): Promise<readonly [code: string | undefined, message: string]> {
  const { port } = front().server.address() as AddressInfo
  const ssl = { rejectUnauthorized: false }
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    ssl,
    user: databaseUser(id),
    password: 'any',
    database: 'app',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.end()
    return [undefined, 'connected']
  } catch (error) {
    if (error instanceof pg.DatabaseError) return [error.code, error.message]
    throw error
  }
}

it('a client is told to try again until the database is back, and that another one does not exist', async () => {
  await lost.backUp()
  edge.agent.add(lost.id)
  edge.agent.onOpen = () => 507
  expect(await refusal(lost.id)).toEqual(['53200', 'no memory to wake the database'])
  await edge.agent.kill()
  expect(await refusal(lost.id)).toEqual(['57P03', 'the host of the database is away'])
  const held = holdStep([lost.other], 'put-archive')
  await lost.remove()
  await held.begun
  // The destination has it already, and lets nobody in.
  await edge.agent.listen()
  edge.agent.onOpen = () => null
  edge.agent.add(lost.id, 'running', 'private')
  expect(await refusal(lost.id)).toEqual(['57P03', 'database is being brought back on another host'])
  held.release()
  await lost.recovered()
  await eventually(() => lost.other.state.sandboxes.get(lost.id)?.visibility === 'public')
  edge.agent.add(lost.id, 'running', 'public')
  edge.agent.onOpen = () => 507
  expect(await refusal(lost.id)).toEqual(['53200', 'no memory to wake the database'])
  expect(await refusal(randomUUID())).toEqual(['3D000', 'database does not exist'])
})

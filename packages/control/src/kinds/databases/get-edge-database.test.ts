/** @module-tag faults */
import { randomUUID } from 'node:crypto'
import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { EDGE_DATABASES_PATH } from '@offshoot/contract/edge-database'
import { SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DatabaseToLose, RecoveredServer } from '../../test/database-to-lose.ts'
import { call, eventually } from '../../test/harness.ts'
import { holdStep } from '../../test/hold-step.ts'

const secret = Buffer.alloc(32, 9)

describe('what edges are told of a database', () => {
  let server: RecoveredServer
  let lost: DatabaseToLose

  beforeAll(async () => {
    server = await RecoveredServer.start()
  })
  afterAll(async () => server.stop())
  beforeEach(async () => {
    lost = await DatabaseToLose.start(server, { edge_secret: secret.toString('base64') })
  })
  afterEach(async () => lost.stop())

  const ask = async (id: string, kid = EDGE_KEY_ID) => {
    const token = await new SignJWT({}).setProtectedHeader({ alg: 'HS256', kid }).setExpirationTime('60s').sign(secret)
    const { status, body } = await call(lost.control.url, 'GET', `${EDGE_DATABASES_PATH}/${id}`, { token })
    return status === 200 ? body : status
  }
  const exists = { is_coming_back: false }
  const comesBack = { is_coming_back: true }

  it('is that it exists, and nothing of what is no database', async () => {
    expect(await ask(lost.id)).toEqual(exists)
    const { body } = await call(lost.control.url, 'POST', '/v1/sandboxes', {
      token: lost.alice.key,
      body: { template: 'postgres-16' },
    })
    for (const id of [body.id, randomUUID(), 'db', '0'.repeat(5_000), '%00', '1']) expect(await ask(id)).toBe(404)
    expect(await ask(lost.id, 'ssh')).toBe(404)
    const { status } = await call(lost.control.url, 'GET', `${EDGE_DATABASES_PATH}/${lost.id}`, {
      token: lost.alice.key,
    })
    expect(status).toBe(404)
    await lost.ask('DELETE')
    expect(await ask(lost.id)).toBe(404)
  })

  it('is that it does not come back if its host is only away, or nothing is left of it', async () => {
    await lost.backUp()
    await lost.home.kill()
    await lost.harness.pool.query('update agents set lost_at = now() where id = $1', [lost.home.state.agentId])
    expect(await ask(lost.id)).toEqual(exists)
    await lost.harness.pool.query('delete from stored_segments')
    await lost.remove()
    expect(await ask(lost.id)).toEqual(exists)
  })

  it('is that it comes back, from the removal of its host until it is public again', async () => {
    await lost.backUp()
    const created = holdStep([lost.other], 'put-archive')
    await lost.remove()
    expect(await ask(lost.id)).toEqual(comesBack)
    await created.begun
    expect(await ask(lost.id)).toEqual(comesBack)
    created.release()
    await eventually(async () => {
      const told = await ask(lost.id)
      const isPublic = lost.other.state.sandboxes.get(lost.id)?.visibility === 'public'
      if (!isPublic) expect(told).toEqual(comesBack)
      return isPublic
    })
    await eventually(async () => (await ask(lost.id)).is_coming_back === false)
  })

  it('is no answer of SQL over HTTP, which is a 502 meanwhile', async () => {
    await lost.backUp()
    const { body } = await call(lost.control.url, 'GET', `/v1/databases/${lost.id}/connection`, {
      token: lost.alice.key,
    })
    const query = () =>
      call(body.broker_url, 'POST', '/v1/query', {
        token: body.broker_token,
        body: { sql: 'select 1', database: 'postgres' },
      })
    const held = holdStep([lost.other], 'put-archive')
    await lost.remove()
    await held.begun
    const { status, body: refusal, headers } = await query()
    // Only the rate limiter sets `Retry-After`, says the specification.
    expect([status, refusal.error, headers.get('retry-after')]).toEqual([502, 'agent unreachable', null])
    held.release()
    await eventually(async () => (await query()).status === 200)
  })
})

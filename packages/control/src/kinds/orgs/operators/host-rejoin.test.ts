import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, Harness, type RunningControl } from '../../../test/harness.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

describe('a host that control refuses', () => {
  let harness: Harness
  let control: RunningControl

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([], OPERATOR)
  })

  afterAll(() => harness.stop())

  const makeToken = async () =>
    (await call(control.url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY })).body.token as string

  it('joins again with its id and its secrets, with a token that was made for it', async () => {
    const host = new JoiningHost()
    const first = (await host.join(control, await makeToken())).body
    const tokenFor = (body: unknown) =>
      call(control.url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY, body })
    for (const host_id of [randomUUID(), 'x', '']) expect((await tokenFor({ host_id })).status).toBe(404)
    for (const body of [{ host_id: 1 }, { host: first.host_id }]) expect((await tokenFor(body)).status).toBe(400)
    const { token } = (await tokenFor({ host_id: first.host_id })).body
    for (const body of [{}, { host_id: randomUUID() }])
      expect((await new JoiningHost().join(control, token, body)).status).toBe(409)
    const again = new JoiningHost(host.url)
    const body = { host_id: first.host_id }
    expect((await again.join(control, await makeToken(), body)).status).toBe(409)
    const joined = await again.join(control, token, body)
    expect(joined.body).toMatchObject({ host_id: first.host_id, secret: first.secret, edge_secret: first.edge_secret })
    expect((await again.join(control, token, body)).status).toBe(200)
    expect((await new JoiningHost().join(control, token, body)).status).toBe(401)
    expect((await again.renew(control)).status).toBe(200)
    const { rows } = await harness.pool.query(
      `select details from audit_log where action = 'host.joined' and target = $1 order by created_at`,
      [first.host_id],
    )
    expect(rows).toEqual([{ details: { url: host.url } }, { details: { url: host.url, again: true } }])
    const late = (await tokenFor({ host_id: first.host_id })).body.token
    await call(control.url, 'DELETE', `/v1/admin/hosts/${first.host_id}`, { token: OPERATOR_KEY })
    expect((await again.join(control, late, body)).status).toBe(401)
    expect((await tokenFor({ host_id: first.host_id })).status).toBe(404)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, eventually, type Harness, type RunningControl } from '../../../test/harness.ts'
import { OrgHarness } from '../../../test/org-harness.ts'

const PASSWORD = 'correct horse'
const AGAIN = { status: 403, body: { error: 'sign in again, or send the password' } }

interface Person {
  readonly id: string
  readonly email: string
  readonly jwt: string
  readonly orgId: string
}

describe('DELETE /v1/me', () => {
  let orgs: OrgHarness
  let harness: Harness
  let control: RunningControl

  beforeAll(async () => {
    orgs = await OrgHarness.start()
    ;({ harness, control } = orgs)
  })

  afterAll(async () => orgs.stop())

  async function person(name: string): Promise<Person> {
    const email = `${name}@example.com`
    const body = { email, password: PASSWORD, name }
    const headers = { 'content-type': 'application/json' }
    const made = await call(control.url, 'POST', '/api/auth/sign-up/email', { body, headers })
    const { token: jwt } = (await call(control.url, 'GET', '/api/auth/token', { token: made.body.token })).body
    const { user, org } = (await call(control.url, 'GET', '/v1/me', { token: jwt })).body
    return { id: user.id, email, jwt, orgId: org.id }
  }
  const remove = ({ jwt }: Pick<Person, 'jwt'>, body: unknown = {}) =>
    call(control.url, 'DELETE', '/v1/me', { token: jwt, body })
  const count = async (text: string, ...values: unknown[]) => (await harness.pool.query(text, values)).rowCount
  const age = ({ id }: Person) =>
    harness.pool.query(`update session set "createdAt" = now() - interval '6 minutes' where "userId" = $1`, [id])
  const join = (orgId: string, userId: string, role: string) =>
    harness.pool.query(
      `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, $3, now())`,
      [orgId, userId, role],
    )

  it('removes the account, its keys, sessions and address, and an empty personal workspace', async () => {
    const anna = await person('anna')
    const { body: key } = await call(control.url, 'POST', '/v1/me/tokens', { token: anna.jwt, body: { name: 'k' } })
    const use = async () => (await call(control.url, 'GET', '/v1/sandboxes', { token: key.token })).status
    expect(await use()).toBe(200)
    const { rows } = await harness.pool.query('select ip from audit_log where actor_id = $1', [anna.id])
    expect(rows).toEqual([{ ip: '127.0.0.1' }])
    await age(anna)
    expect((await remove(anna, { password: PASSWORD })).status).toBe(204)
    expect(await use()).toBe(401)
    expect((await call(control.url, 'GET', '/v1/me', { token: anna.jwt })).status).toBe(401)
    for (const table of ['session', 'account', 'member'])
      expect(await count(`select from ${table} where "userId" = $1`, anna.id)).toBe(0)
    expect(await count('select from "user" where id = $1 or email = $2', anna.id, anna.email)).toBe(0)
    const entries = await harness.pool.query('select action, ip from audit_log where actor_id = $1', [anna.id])
    expect(entries.rows).toEqual(
      expect.arrayContaining(
        ['token.created', 'org.deleted', 'account.deleted'].map((action) => ({ action, ip: null })),
      ),
    )
    await eventually(async () => (await count('select from organization where id = $1', anna.orgId)) === 0)
    expect((await person('anna')).id).not.toBe(anna.id)
  })

  it('takes the password, or a sign-in within the last minutes', { tags: ['faults'] }, async () => {
    const berta = await person('berta')
    await age(berta)
    expect(await remove(berta)).toMatchObject(AGAIN)
    expect(await remove(berta, { password: null })).toMatchObject(AGAIN)
    expect(await remove(berta, { password: 7 })).toMatchObject({ status: 400 })
    expect(await remove(berta, { password: 'x'.repeat(129) })).toMatchObject({ status: 400 })
    expect(await remove(berta, { password: '' })).toMatchObject({ status: 403, body: { error: 'wrong password' } })
    const guesses = await Promise.all(Array.from({ length: 8 }, () => remove(berta, { password: 'wrong horse' })))
    const statuses = guesses.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).toEqual([403, 403, 403, 403, 429, 429, 429, 429])
    const tenant = await orgs.tenant('bruno')
    expect(await remove(tenant)).toMatchObject(AGAIN)
    expect((await call(control.url, 'DELETE', '/v1/me', { token: tenant.key })).status).toBe(401)
    await harness.pool.query('update session set "createdAt" = now() where "userId" = $1', [berta.id])
    expect((await remove(berta)).status).toBe(204)
  })

  it('names the workspaces without another owner, until they are transferred or deleted', async () => {
    const carl = await person('carl')
    const dana = await orgs.tenant('dana')
    await harness.pool.query(`update organization set name = 'Shared' where id = $1`, [carl.orgId])
    await join(carl.orgId, dana.userId, 'admin')
    expect(await remove(carl)).toMatchObject({ status: 409, body: { workspaces: ['Shared'] } })
    const promoted = await orgs.ask(carl.jwt, 'PATCH', `/${carl.orgId}/members/${dana.userId}`, { role: 'owner' })
    expect(promoted.status).toBe(200)
    expect((await remove(carl)).status).toBe(204)
    const members = JSON.stringify((await orgs.ask(dana.jwt, 'GET', `/${carl.orgId}/members`)).body)
    expect(members).not.toContain(carl.id)
    expect(members).toContain(dana.userId)
  })

  it(
    'keeps a workspace with objects or a subscription, and forgets invitations to the address',
    { tags: ['faults'] },
    async () => {
      const emil = await person('emil')
      const customer = (id: string | null) =>
        harness.pool.query(
          `insert into workspace_accounts (workspace_id, plan, plan_source, customer_id) values ($1, 'pro', 'operator', $2)
         on conflict (workspace_id) do update set customer_id = excluded.customer_id`,
          [emil.orgId, id],
        )
      await customer('cus_1')
      expect((await remove(emil)).status).toBe(409)
      await customer(null)
      const sandbox = await call(control.url, 'POST', '/v1/sandboxes', { token: emil.jwt, body: { template: 'base' } })
      expect(sandbox.status).toBe(201)
      expect((await remove(emil)).status).toBe(409)
      const fritz = await orgs.tenant('fritz')
      const invitation = { email: emil.email, role: 'member' }
      expect((await orgs.ask(fritz.jwt, 'POST', `/${fritz.workspaceId}/members`, invitation)).status).toBe(201)
      expect((await orgs.ask(emil.jwt, 'DELETE', `/${emil.orgId}`)).status).toBe(204)
      expect((await remove(emil)).status).toBe(204)
      expect(await count('select from invitations where email = $1', emil.email)).toBe(0)
      expect(await count('select from audit_log where target = $1', emil.email)).toBe(0)
    },
  )

  it('leaves one owner when two leave at once', async () => {
    const [gina, hugo] = [await person('gina'), await person('hugo')]
    await join(gina.orgId, hugo.id, 'owner')
    await join(gina.orgId, (await orgs.tenant('ida')).userId, 'member')
    const answers = await Promise.all([remove(gina), remove(hugo)])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 409])
    expect(await count(`select from member where "organizationId" = $1 and role = 'owner'`, gina.orgId)).toBe(1)
  })
})

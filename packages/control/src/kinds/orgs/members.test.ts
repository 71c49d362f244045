// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { removeOldEntries } from '../../platform/audit/audit-statements.ts'
import { setPlan } from '../billing/limits/set-plan.ts'
import { call, eventually, type Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { textOf } from '../../test/mail-server.ts'
import { OrgHarness } from '../../test/org-harness.ts'

const UNKNOWN = { status: 404, body: { error: 'not found' } }

describe('members of workspaces', () => {
  let orgs: OrgHarness
  let harness: Harness
  let control: RunningControl
  let owner: Tenant
  let stranger: Tenant

  beforeAll(async () => {
    orgs = await OrgHarness.start()
    ;({ harness, control } = orgs)
    owner = await orgs.tenant('owner')
    stranger = await orgs.tenant('stranger')
  })

  afterAll(async () => orgs.stop())

  const ask: OrgHarness['ask'] = (...asked) => orgs.ask(...asked)

  describe('invitations', () => {
    it('let in who has the mail and the address, once', async () => {
      const invited = await orgs.tenant('ina')
      const { status, body } = await ask(owner.jwt, 'POST', `/${owner.workspaceId}/members`, {
        email: 'Ina@Example.com',
      })
      expect(status).toBe(201)
      expect(body).toMatchObject({ email: 'ina@example.com', role: 'member' })
      expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(7 * 86_400_000)
      const token = await orgs.mailedToken('ina@example.com')
      const mail = orgs.mails.to('ina@example.com')
      expect(mail && textOf(mail)).toContain(`${control.url}/invitation#${token}\n`)
      expect(JSON.stringify(body)).not.toContain(token)
      expect((await ask(owner.jwt, 'GET', `/${owner.workspaceId}/invites`)).body).toEqual([body])
      const accept = (jwt: string) => ask(jwt, 'POST', `/invites/${token}/accept`)
      expect(await accept(stranger.jwt)).toMatchObject({
        status: 403,
        body: { error: 'invitation is for another e-mail address' },
      })
      const answers = await Promise.all([accept(invited.jwt), accept(invited.jwt)])
      expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 404])
      const accepted = answers.find((answer) => answer.status === 200)
      expect(accepted?.body.org).toMatchObject({ id: owner.workspaceId, role: 'member' })
      expect((await ask(invited.jwt, 'GET', `/${owner.workspaceId}/members`)).body).toEqual([
        {
          user_id: owner.userId,
          email: 'owner@example.com',
          name: 'owner',
          role: 'owner',
          joined_at: expect.any(String),
        },
        {
          user_id: invited.userId,
          email: 'ina@example.com',
          name: 'ina',
          role: 'member',
          joined_at: expect.any(String),
        },
      ])
      const again = await ask(owner.jwt, 'POST', `/${owner.workspaceId}/members`, { email: 'ina@example.com' })
      expect(again).toMatchObject({ status: 409, body: { error: 'already a member' } })
    })

    it('can be taken back, replaced, and run out', async () => {
      const ivo = await orgs.tenant('ivo')
      const invite = () =>
        ask(owner.jwt, 'POST', `/${owner.workspaceId}/members`, { email: 'ivo@example.com', role: 'admin' })
      const accept = (token: string) => ask(ivo.jwt, 'POST', `/invites/${token}/accept`)
      await invite()
      const first = await orgs.mailedToken('ivo@example.com')
      const { body } = await invite()
      const second = await eventually(async () => {
        const token = await orgs.mailedToken('ivo@example.com')
        return token === first ? null : token
      })
      expect(await accept(first)).toMatchObject(UNKNOWN)
      const takeBack = (id: string, jwt = owner.jwt) => ask(jwt, 'DELETE', `/${owner.workspaceId}/invites/${id}`)
      for (const id of ['nonsense', ivo.userId]) expect(await takeBack(id)).toMatchObject(UNKNOWN)
      expect((await takeBack(body.id)).status).toBe(204)
      expect(await takeBack(body.id)).toMatchObject(UNKNOWN)
      expect(await accept(second)).toMatchObject(UNKNOWN)
      await invite()
      await harness.pool.query(`update invitations set expires_at = now() where email = 'ivo@example.com'`)
      const third = await eventually(async () => {
        const token = await orgs.mailedToken('ivo@example.com')
        return token === second ? null : token
      })
      expect(await accept(third)).toMatchObject(UNKNOWN)
      for (const token of ['x', '%00', '..%2f..', 'a'.repeat(900)]) expect(await accept(token)).toMatchObject(UNKNOWN)
    })

    it.each([
      [{}, 'email required'],
      [{ email: 7 }, 'email must be a string'],
      [{ email: 'nobody' }, 'email must be an e-mail address'],
      [{ email: 'a@example.com\r\nBcc: b@example.com' }, 'email must be an e-mail address'],
      [{ email: 'a@example.com, b@example.com' }, 'email must be an e-mail address'],
      [{ email: 'A <a@example.com>' }, 'email must be an e-mail address'],
      [{ email: `${'a'.repeat(250)}@example.com` }, 'email must be at most 254 characters'],
      [{ email: 'a@example.com', role: 'owner' }, 'role must be admin or member'],
    ])('are refused for %j', async (body, error) => {
      const answer = await ask(owner.jwt, 'POST', `/${owner.workspaceId}/members`, body)
      expect(answer).toMatchObject({ status: 400, body: { error } })
    })

    it('are no more than the plan has seats, counting those that are open', async () => {
      const small = await harness.tenant(control, 'small')
      const invite = (name: string) =>
        ask(small.jwt, 'POST', `/${small.workspaceId}/members`, { email: `${name}@example.com` })
      expect(await invite('seat0')).toMatchObject({
        status: 402,
        body: { error: 'seat limit reached: your free plan allows 1 member(s). Upgrade to invite more.' },
      })
      await setPlan(harness.pool, small.workspaceId as WorkspaceId, 'pro')
      const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => invite(`seat${i}`)))
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(4)
      const invited = answers.find(({ status }) => status === 201)?.body.email as string
      const first = await orgs.mailedToken(invited)
      expect((await invite(invited.split('@')[0] ?? '')).status).toBe(201)
      await setPlan(harness.pool, small.workspaceId as WorkspaceId, 'free')
      const guest = await orgs.tenant(invited.split('@')[0] ?? '')
      // The token of the first mail is no longer valid.
      const token = await eventually(async () => {
        const mailed = await orgs.mailedToken(invited)
        return mailed !== first && mailed
      })
      expect((await ask(guest.jwt, 'POST', `/invites/${token}/accept`)).status).toBe(402)
    })
  })

  describe('members', () => {
    let boss: Tenant
    let admin: Tenant
    let member: Tenant

    beforeAll(async () => {
      boss = await orgs.tenant('boss')
      admin = await orgs.join(boss, 'adam', 'admin')
      member = await orgs.join(boss, 'mona')
    })

    const change = (by: Tenant, of: Tenant, role: unknown) =>
      ask(by.jwt, 'PATCH', `/${boss.workspaceId}/members/${of.userId}`, { role })
    const remove = (by: Tenant, of: Tenant) => ask(by.jwt, 'DELETE', `/${boss.workspaceId}/members/${of.userId}`)
    const missing = (detail: string) => ({ status: 403, body: { error: 'forbidden', detail } })

    it('may do what the table of roles says', async () => {
      const path = `/${boss.workspaceId}`
      for (const [token, statuses] of [
        [boss.jwt, [200, 200, 200, 200, 201]],
        [admin.jwt, [200, 200, 200, 200, 201]],
        [member.jwt, [200, 200, 403, 403, 403]],
        [stranger.jwt, [404, 404, 404, 404, 404]],
      ] as const) {
        const answers = [
          await ask(token, 'GET', path),
          await ask(token, 'GET', `${path}/members`),
          await ask(token, 'GET', `${path}/invites`),
          await ask(token, 'PATCH', path, { name: 'Boss & Co' }),
          await ask(token, 'POST', `${path}/members`, { email: 'someone@example.com' }),
        ]
        expect(answers.map(({ status }) => status)).toEqual(statuses)
      }
      for (const by of [admin, member]) {
        expect(await ask(by.jwt, 'DELETE', path)).toMatchObject(missing('takes the role owner'))
        expect(await change(by, member, 'owner')).toMatchObject(missing('takes the role owner'))
      }
      expect(await remove(member, admin)).toMatchObject(missing('takes the role owner or admin'))
      expect(await remove(admin, boss)).toMatchObject(missing('takes the role owner'))
      for (const answer of [await ask(boss.key, 'GET', path), await ask(boss.key, 'DELETE', path)]) {
        expect(answer).toMatchObject({ status: 401, body: { detail: 'jwt required' } })
      }
    })

    it('always have an owner among them', async () => {
      const refused = {
        status: 409,
        body: { error: 'last owner: make another member an owner first, or delete the workspace' },
      }
      expect(await remove(boss, boss)).toMatchObject(refused)
      expect(await change(boss, boss, 'member')).toMatchObject(refused)
      expect((await change(boss, member, 'owner')).body).toMatchObject({ user_id: member.userId, role: 'owner' })
      const both = await Promise.all([change(boss, boss, 'admin'), change(member, member, 'member')])
      expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
      await harness.pool.query(`update member set role = 'owner' where "organizationId" = $1 and "userId" = $2`, [
        boss.workspaceId,
        boss.userId,
      ])
      expect((await change(boss, member, 'member')).status).toBe(200)
      for (const role of ['king', '', null, 7]) {
        expect(await change(boss, member, role)).toMatchObject({
          status: 400,
          body: { error: 'role must be owner, admin or member' },
        })
      }
      expect(await change(boss, stranger, 'admin')).toMatchObject(UNKNOWN)
      expect(await ask(boss.jwt, 'DELETE', `/${boss.workspaceId}/members/nonsense`)).toMatchObject(UNKNOWN)
    })

    it('who leave take along no key of the workspace', async () => {
      const headers = { 'x-offshoot-org': boss.workspaceId }
      const me = await call(control.url, 'GET', '/v1/me', { token: member.jwt, headers })
      expect([me.body.org.role, me.body.permissions]).toEqual(['member', ['workspace:read']])
      const made = await call(control.url, 'POST', '/v1/me/tokens', { token: member.jwt, body: { name: 'k' }, headers })
      const use = () => call(control.url, 'GET', '/v1/sandboxes', { token: made.body.token })
      expect((await use()).status).toBe(200)
      expect((await remove(member, member)).status).toBe(204)
      expect(await eventually(async () => (await use()).status === 401)).toBe(true)
      expect(await ask(member.jwt, 'GET', `/${boss.workspaceId}`)).toMatchObject(UNKNOWN)
      expect(await remove(member, member)).toMatchObject(UNKNOWN)
    })

    it('are in the audit log with all that was done', async () => {
      const audit = (token: string, query = '') =>
        call(control.url, 'GET', `/v1/audit${query}`, { token, headers: { 'x-offshoot-org': boss.workspaceId } })
      const { body } = await audit(admin.jwt, '?limit=1000')
      expect(new Set(body.map(({ action }: { action: string }) => action))).toEqual(
        new Set([
          'invitation.created',
          'member.joined',
          'member.removed',
          'member.role_changed',
          'org.updated',
          'token.created',
        ]),
      )
      expect(body.find(({ action }: { action: string }) => action === 'member.removed')).toEqual({
        id: expect.any(String),
        created_at: expect.stringMatching(/Z$/),
        actor: { type: 'user', id: member.userId },
        action: 'member.removed',
        target: member.userId,
        target_kind: 'user',
        ip: '127.0.0.1',
        request_id: expect.any(String),
        details: { role: 'member', tokens_revoked: [expect.stringMatching(/^ofs_/)] },
      })
      const first = await audit(boss.jwt, '?limit=2')
      const next = /<[^?]+(\?[^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
      const second = await audit(boss.jwt, next)
      expect([...first.body, ...second.body]).toEqual(body.slice(0, 4))
      expect((await audit(boss.jwt, `?action=member.joined&from=${body.at(-1).created_at}`)).body).toHaveLength(2)
      expect((await audit(boss.jwt, `?to=${body.at(-1).created_at}`)).body).toEqual([])
      for (const query of [
        '?action=x',
        '?from=yesterday',
        '?limit=0',
        '?cursor=x',
        '?action=org.updated&action=org.updated',
      ]) {
        expect((await audit(boss.jwt, query)).status).toBe(400)
      }
      expect(await audit(stranger.jwt)).toMatchObject(UNKNOWN)
      await harness.pool.query(
        `insert into audit_log (workspace_id, actor_type, action, created_at)
         select $1, 'service', 'org.updated', now() - make_interval(days => age) from unnest(array[364, 366]) age`,
        [boss.workspaceId],
      )
      await removeOldEntries(harness.pool, 367)
      expect((await audit(boss.jwt, '?limit=1000')).body).toHaveLength(body.length + 2)
      await removeOldEntries(harness.pool, 365)
      expect((await audit(boss.jwt, '?limit=1000')).body).toHaveLength(body.length + 1)
    })
  })
})

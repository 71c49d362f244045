/** @module-tag faults */
// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sealEnvironment } from '../../kinds/apps/model/app-environment.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { addQuarantined } from '../../test/fake-quarantine.ts'
import { type Answer, call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { appLists, orgLists } from '../../test/list-objects-of-apps.ts'
import { operatorLists } from '../../test/list-objects-of-operators.ts'
import { volumeLists } from '../../test/list-objects-of-volumes.ts'
import { webhookLists } from '../../test/list-objects-of-webhooks.ts'
import { insertObjects, type ListCase, Seed } from '../../test/list-objects.ts'
import { OPERATOR, OPERATOR_KEY } from '../../test/operator.ts'

const LISTS = [appLists, orgLists, volumeLists, webhookLists]
/** Arrays that are always complete: few entries, or those of a guest or another service. */
const UNPAGED = [
  '/v1/lsp/languages',
  '/v1/sandboxes/{id}/ports',
  '/v1/sandboxes/{id}/code/contexts',
  '/v1/sandboxes/{id}/events',
  '/v1/sandboxes/{id}/execs',
  '/v1/sandboxes/{id}/logs',
  '/v1/databases/{id}/logs',
  '/v1/github/repos',
  '/v1/gitprovider/repos',
]

/** Every list of the API, with three objects of one workspace in each and three of another. */
describe('lists', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant
  let lists: readonly ListCase[]
  let listsOfBob: readonly ListCase[]

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], {
      ...OPERATOR,
    })
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
    const env = sealEnvironment(control.control.appSecrets, {})
    const quarantined = [1, 2, 3].map(() => addQuarantined(agent.state, { since: '2026-01-01T00:00:00.000Z' }).entry)
    const unreadable = addQuarantined(agent.state, { state: 'unreadable', kind: 'sandbox' }).entry
    const ofOperators = {
      path: '/v1/hosts/self/quarantine',
      by: 'entry',
      names: [...quarantined.toSorted(), unreadable],
      credential: 'operator',
      takesCursorsOfOthers: true,
      filters: { 'state=unreadable': [unreadable], 'kind=sandbox': [unreadable], 'kind=layer': [] },
    } as const
    lists = [...(await insertObjects(new Seed(harness, alice, env), LISTS)), ofOperators]
    listsOfBob = [...(await insertObjects(new Seed(harness, bob, env), LISTS)), ofOperators]
    const slugs = ['bob', 'alice']
    const orgs = {
      path: '/v1/admin/orgs',
      only: `created_after=${new Date(Date.now() - 3_600_000).toISOString()}`,
      by: 'slug',
      names: slugs,
      credential: 'operator',
      takesCursorsOfOthers: true,
      filters: { 'q=alice': ['alice'], 'q=%00': [], 'suspended=true': [], 'plan=free': [], 'plan=self-hosted': slugs },
    } as const
    const jobIds: string[] = []
    for (let n = 0; n < 3; n += 1) {
      const { rows } = await harness.pool.query(
        `select id from graphile_worker.add_job('unknown', run_at := now() + interval '1 day')`,
      )
      jobIds.unshift(String(rows[0].id))
    }
    const jobs = {
      path: '/v1/admin/jobs',
      only: 'task=unknown',
      by: 'id',
      names: jobIds,
      credential: 'operator',
      takesCursorsOfOthers: true,
      filters: {
        'state=waiting': jobIds,
        'state=failed': [],
        'created_after=2100-01-01T00:00:00Z': [],
        'created_before=2100-01-01T00:00:00Z': jobIds,
      },
    } as const
    const auditOfAlice = lists.find(({ path }) => path === '/v1/audit')?.names ?? []
    const audit = {
      path: '/v1/admin/audit',
      by: 'id',
      names: auditOfAlice,
      only: `workspace_id=${alice.workspaceId}&action=org.updated`,
      credential: 'operator',
      takesCursorsOfOthers: true,
      filters: { 'actor_type=service': auditOfAlice, 'actor_type=user': [], 'target_kind=org': auditOfAlice },
    } as const
    const hostIds = ['host-a', 'host-b', 'host-c']
    for (const [n, id] of hostIds.entries())
      await harness.pool.query(
        `insert into agents (id, url, info, created_at)
         select $1, 'http://' || $1, info, '2026-01-01Z'::timestamptz + $2 * interval '1 day' from agents limit 1`,
        [id, n],
      )
    await harness.pool.query(
      `update agents set labels = label::jsonb, zone = z
       from (values ('host-a', '{}', 'east'), ('host-b', '{"disk":"nvme","line":"b"}', null), ('host-c', '{"disk":"nvme"}', null))
         as described (host, label, z) where id = host`,
    )
    const hosts = {
      path: '/v1/admin/hosts',
      only: 'created_before=2026-02-01T00:00:00Z',
      by: 'id',
      names: hostIds.toReversed(),
      credential: 'operator',
      takesCursorsOfOthers: true,
      filters: {
        'created_after=2026-01-02T12:00:00Z': ['host-c'],
        'label=disk:nvme': ['host-c', 'host-b'],
        'label=disk:nvme,line:b': ['host-b'],
        'label=disk:nvme&label=line:b': ['host-b'],
        'label=disk:nvme,disk:ssd': [],
        'zone=east': ['host-a'],
        'zone=%00': [],
      },
    } as const
    const shared = [orgs, jobs, audit, hosts, ...(await operatorLists(new Seed(harness, alice, env)))]
    lists = [...lists, ...shared]
    listsOfBob = [...listsOfBob, ...shared]
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (who: Tenant, path: string, { credential }: ListCase) =>
    call(control.url, 'GET', path, {
      token: { operator: OPERATOR_KEY, jwt: who.jwt, key: who.key }[credential ?? 'key'],
    })
  const asAlice = (path: string, list: ListCase) => ask(alice, path, list)
  const withQuery = ({ path, only }: ListCase, query = '') => `${path}?${[only, query].filter(Boolean).join('&')}`
  const namesOf = ({ by }: ListCase, { body }: Answer) =>
    Array.isArray(body) ? body.map((each: Record<string, unknown>) => String(each[by])) : body
  const nextOf = ({ headers }: Answer) => /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
  const cursorOf = (answer: Answer) => new URL(nextOf(answer) ?? 'http://none').searchParams.get('cursor') ?? ''

  async function pagesOf(list: ListCase, limit: number, between?: () => Promise<unknown>): Promise<Answer[]> {
    const pages: Answer[] = []
    let path: string | undefined = withQuery(list, `limit=${limit}`)
    while (path !== undefined) {
      const page = await asAlice(path, list)
      expect([list.path, page.status]).toEqual([list.path, 200])
      pages.push(page)
      if (pages.length === 1) await between?.()
      const next = nextOf(page)
      expect(next ?? control.url).toContain(control.url)
      path = next?.slice(control.url.length)
    }
    return pages
  }

  it('are all in this test, except those that are always complete', async () => {
    const { body } = await call(control.url, 'GET', '/openapi.json')
    const paths = Object.entries(body.paths).flatMap(([path, methods]) => {
      const { get } = methods as {
        get?: { responses: Record<string, { content?: Record<string, { schema?: { type?: string } }> }> }
      }
      return get?.responses['200']?.content?.['application/json']?.schema?.type === 'array' ? [path] : []
    })
    const tested = lists.map(
      ({ path }) => new RegExp(`^${path.replaceAll(/\/[^/]+/g, (part) => `(?:${part}|/\\{\\w+\\})`)}$`),
    )
    const untested = paths.filter((path) => !tested.some((each) => each.test(path)))
    expect(untested.toSorted()).toEqual(['/v1/github/installations', ...UNPAGED].toSorted())
  })

  it('are the same in one piece and in pages of one, with a link to each next page', async () => {
    for (const list of lists) {
      const whole = await asAlice(withQuery(list), list)
      expect([list.path, whole.status, namesOf(list, whole)]).toEqual([list.path, 200, list.names])
      expect([list.path, whole.headers.get('link')]).toEqual([list.path, null])
      const pages = await pagesOf(list, 1)
      expect([list.path, pages.map((page) => page.body.length)]).toEqual([list.path, list.names.map(() => 1)])
      expect([list.path, pages.flatMap((page) => page.body)]).toEqual([list.path, whole.body])
      const [first] = pages
      const rest = first && (await asAlice(withQuery(list, `cursor=${cursorOf(first)}`), list))
      expect([list.path, rest?.body]).toEqual([list.path, whole.body.slice(1)])
    }
  })

  it('refuse wrong parameters', async () => {
    const cases = [
      ['limit=0', 'limit must be an integer from 1 to 1000'],
      ['limit=1001', 'limit must be an integer from 1 to 1000'],
      ['limit=x', 'limit must be an integer from 1 to 1000'],
      ['limit=1&limit=1', 'limit must be an integer from 1 to 1000'],
      ['cursor=x', 'cursor is not one this list gave out'],
      ['cursor=', 'cursor is not one this list gave out'],
      ['cursor=W10', 'cursor is not one this list gave out'],
      [`cursor=${'x'.repeat(1025)}`, 'cursor is not one this list gave out'],
      ['cursor=x&cursor=x', 'cursor must be given once'],
    ]
    for (const list of lists) {
      for (const [query, error] of cases) {
        const { status, body } = await asAlice(withQuery(list, query), list)
        expect([list.path, query, status, body]).toEqual([list.path, query, 400, { error }])
      }
    }
  })

  it('refuse wrong values of filters', async () => {
    const words = /^(status|size|role|origin|order|verified|state|kind|plan|action|actor_type|target_kind)=/
    const flags = /^(attached|is_global|expired|suspended)=/
    const times = /^(created_after|created_before|from|to)=/
    for (const list of lists) {
      for (const [name = ''] of Object.keys(list.filters).map((filter) => filter.split('='))) {
        const expected = [
          { is: words, query: `${name}=nonsense`, error: `${name} must be one of ` },
          { is: flags, query: `${name}=2`, error: `${name} must be one of 1, true, yes, 0, false, no` },
          { is: times, query: `${name}=0000-01-01T00:00:00Z`, error: `${name} must be a timestamp` },
          { is: times, query: `${name}=soon`, error: `${name} must be a timestamp` },
          { is: /./, query: `${name}=a&${name}=a`, error: `${name} must be ` },
        ].filter(({ is }) => is.test(`${name}=`))
        for (const { query, error } of expected) {
          const { status, body } = await asAlice(`${list.path}?${query}`, list)
          expect([list.path, query, status]).toEqual([list.path, query, 400])
          expect(Object.keys(body)).toEqual(['error'])
          expect(body.error).toContain(error)
        }
      }
    }
  })

  it('refuse the cursor of another list, of another workspace, and a forged one', async () => {
    for (const [index, list] of lists.entries()) {
      const [other, ofBob] = [lists.at(index - 1) ?? list, listsOfBob[index] ?? list]
      const cursor = cursorOf(await asAlice(withQuery(list, 'limit=1'), list))
      const bobs = cursorOf(await ask(bob, withQuery(ofBob, 'limit=1'), ofBob))
      const fields = JSON.parse(Buffer.from(cursor, 'base64url').toString())
      const forge = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const refused = [
        [other, cursor],
        ...(list.takesCursorsOfOthers === true ? [] : [[list, bobs] as const]),
        ...[[...fields, 1], fields.slice(0, -1), fields.with(2, null), fields.with(2, '\0'), {}, null].map(
          (value) => [list, forge(value)] as const,
        ),
      ] as const
      for (const [asked, each] of refused) {
        const { status, body } = await asAlice(withQuery(asked, `cursor=${each}`), asked)
        const error = 'cursor is not one this list gave out'
        expect([asked.path, list.path, each, status, body]).toEqual([asked.path, list.path, each, 400, { error }])
      }
      for (const value of ['0000-13-01', '0000-01-01T00:00:00.000Z', 1e300]) {
        const forged = await asAlice(withQuery(list, `cursor=${forge(fields.with(2, value))}`), list)
        expect([list.path, value, forged.status < 500]).toEqual([list.path, value, true])
      }
    }
  })

  it('filter', async () => {
    for (const list of lists) {
      for (const [query, names] of Object.entries(list.filters)) {
        const answer = await asAlice(withQuery(list, query), list)
        expect([list.path, query, answer.status, namesOf(list, answer)]).toEqual([list.path, query, 200, names])
        if (names.length < 2) continue
        const pages = await pagesOf({ ...list, only: [list.only, query].filter(Boolean).join('&') }, 1)
        expect([list.path, query, pages.flatMap((page) => namesOf(list, page))]).toEqual([list.path, query, names])
      }
    }
  })

  it('do not shift while objects are created', async () => {
    for (const list of lists.filter(({ add }) => add !== undefined)) {
      const pages = await pagesOf(list, 1, list.add)
      const seen = pages.flatMap((page) => namesOf(list, page))
      expect([list.path, seen.slice(0, list.names.length)]).toEqual([list.path, list.names])
      expect(new Set(seen).size).toBe(seen.length)
    }
  })
})

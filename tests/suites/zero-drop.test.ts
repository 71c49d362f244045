/**
 * No visitor of an app may notice deploys, rollbacks and scaling. OFFSHOOT_ZERO_DROP sets `deploys,rollbacks,scale
 * changes` and requests per second, as in `20,5,3,200`. `apps.test.ts` has a short form.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GitHost } from '../setup/git-host.ts'
import { nodeApp } from '../setup/node-app.ts'
import { Offshoot } from '../setup/offshoot.ts'
import { until } from '../setup/until.ts'
import { Visitors } from '../setup/visitors.ts'

const wanted = process.env['OFFSHOOT_ZERO_DROP']
const [DEPLOYS = 1, ROLLBACKS = 1, SCALES = 1, PER_SECOND = 40] = (wanted ?? '').split(',').map(Number)
/** Milliseconds for one step on an emulated CPU of a busy machine. */
const STEP_MS = 120_000
const SOCKETS = 4

describe.skipIf(wanted === undefined)('an app that is deployed again and again', () => {
  let git: GitHost
  let offshoot: Offshoot
  let app: { id: string; url: string }

  beforeAll(async () => {
    git = await GitHost.start()
    offshoot = await Offshoot.start('zero-drop', { templates: ['app'], env: { OFFSHOOT_EGRESS_ALLOW: git.exception } })
    const body = { name: 'app', git_url: git.urlOf('app') }
    app = (await offshoot.request('POST', '/v1/apps', { body })).body
  })

  afterAll(async () => {
    await offshoot?.destroy()
    await git?.stop()
  })

  /** Commits a server that answers with its version, and greets WebSockets. A broken one answers 500. */
  async function commit(version: string, isBroken = false): Promise<void> {
    const { 'server.js': server } = nodeApp(version)
    const answer = isBroken
      ? `(response.statusCode = 500, response.end('${version}'))`
      : `request.url === '/' ? response.end('${version}') : setTimeout(() => response.end('${version}'), 200)`
    const code = server.replace(/\.createServer\([\s\S]*?\n\}\)/, `.createServer((request, response) => { ${answer} })`)
    await git.commit('app', {
      'server.js': code,
      'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }),
    })
  }

  async function over(action: 'deploys' | 'rollback'): Promise<string> {
    const { status, body: row } = await offshoot.request('POST', `/v1/apps/${app.id}/${action}`)
    expect(status).toBe(202)
    const path = `/v1/apps/${app.id}/deploys/${row.id}`
    const ended = async () => {
      const { body } = await offshoot.request('GET', path)
      return ['live', 'failed'].includes(body.status) ? (body.status as string) : null
    }
    return until(`the end of the ${action}`, ended, STEP_MS, 50)
  }

  const sandboxes = async () => (await offshoot.request('GET', '/v1/sandboxes?status=running')).body.length as number

  /** Scales up to two instances with slow requests, and down to one again. */
  async function changeScale(): Promise<void> {
    // The previous version's instance may still be ending.
    await until('one instance', async () => (await sandboxes()) === 1, STEP_MS)
    const limit = (max: number) => offshoot.request('PATCH', `/v1/apps/${app.id}`, { body: { max_instances: max } })
    await limit(2)
    const { host } = new URL(app.url)
    const crowd = new Visitors({ url: `${offshoot.credentials.edge_url}/slow`, host, perSecond: 100, webSockets: 0 })
    await until('a second instance', async () => (await sandboxes()) === 2, STEP_MS)
    await crowd.stop()
    expect([...crowd.seen.keys()].filter((what) => !what.startsWith('good-'))).toEqual([])
    await limit(1)
    await until('the second one to be gone', async () => (await sandboxes()) === 1, STEP_MS)
  }

  it(
    'no request fails, none is answered by a version that was never healthy, and WebSockets end only with 1012',
    async () => {
      await commit('good-0')
      expect(await over('deploys')).toBe('live')
      const { host } = new URL(app.url)
      const visitors = new Visitors({
        url: offshoot.credentials.edge_url,
        host,
        perSecond: PER_SECOND,
        webSockets: SOCKETS,
      })
      await until('visitors', () => visitors.requests > 10)
      for (let step = 1; step <= Math.max(DEPLOYS, ROLLBACKS, SCALES); step++) {
        if (step <= DEPLOYS) {
          await commit(`good-${step}`)
          expect(await over('deploys')).toBe('live')
          await until('visitors of it', () => visitors.seen.has(`good-${step}`))
        }
        if (step <= ROLLBACKS) expect(await over('rollback')).toBe('live')
        if (step <= SCALES) await changeScale()
        console.log(
          `step ${step}: ${visitors.requests} requests, ${visitors.pace.toFixed(0)} a second, WebSockets: ${visitors.opens} opened, ${visitors.closes.join()} closed`,
        )
      }
      await commit('broken', true)
      expect((await offshoot.request('POST', `/v1/apps/${app.id}/deploys`)).status).toBe(202)
      const broken = async () => {
        const { body } = await offshoot.request('GET', `/v1/apps/${app.id}/deploys`)
        return body[0].status === 'deploying' ? (body[0].id as string) : null
      }
      const id = await until('the start of what is broken', broken, STEP_MS)
      const asked = visitors.requests
      await until('more visitors', () => visitors.requests > asked + 2 * PER_SECOND, STEP_MS)
      await offshoot.request('POST', `/v1/apps/${app.id}/deploys/${id}/cancel`)
      await visitors.stop()
      console.log(Object.fromEntries(visitors.seen), `WebSockets closed: ${visitors.closes.length}`)
      expect(new Set(visitors.seen.keys())).toEqual(
        new Set(Array.from({ length: DEPLOYS + 1 }, (_, version) => `good-${version}`)),
      )
      expect(new Set(visitors.closes)).toEqual(new Set([1012]))
      expect(visitors.closes.length).toBeGreaterThanOrEqual(SOCKETS * DEPLOYS)
    },
    60_000 + STEP_MS * (DEPLOYS + ROLLBACKS + SCALES),
  )
})

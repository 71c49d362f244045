/** @module-tag long */
/** Deployments with a fault: a table whose rows name a fault and the expected outcome. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimDeployments } from '../model/deployment-statements.ts'
import { edgeApps } from '../edge-app-statements.ts'
import { ProcessLock } from '../../../platform/db/process-lock.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FaultyGuest, type GuestFault, type GuestStep } from '../../../test/faulty-guest.ts'
import type { Handled } from '../../../test/handled.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

interface Deployed {
  readonly id: string
  readonly status: string
  readonly error: string | null
  readonly sandbox_id: string | null
  readonly build_logs: string
}

const OVER = new Set(['live', 'failed', 'superseded'])
const DEPLOYS = { step_seconds: 5, start_seconds: 1, total_seconds: 10 }

describe('a deploy', () => {
  let harness: Harness
  let agent: FakeAgent
  let guest: FaultyGuest
  let control: RunningControl
  let alice: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start({ templates: ['app'] })
    guest = new FaultyGuest(agent)
    harness = await Harness.start()
    control = await harness.control([agent], { deploys: DEPLOYS })
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    guest.stop()
    await harness.stop()
    await agent.kill()
  })

  const as = (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })

  async function begin(app: string): Promise<string> {
    const { status, body } = await as('POST', `/v1/apps/${app}/deploys`)
    expect(status).toBe(202)
    return body.id
  }

  const over = (app: string, id: string): Promise<Deployed> =>
    eventually(async () => {
      const { body } = await as('GET', `/v1/apps/${app}/deploys/${id}`)
      return OVER.has(body.status) && body
    })

  /** An app with a serving version. @param name as the guest knows it */
  async function served(name = randomUUID()) {
    const commands = { install_command: 'install-it', build_command: 'build-it', start_command: 'start-it' }
    const body = { name, git_url: `https://git.example.com/${name}`, ...commands }
    const { id } = (await as('POST', '/v1/apps', body)).body
    const first = await over(id, await begin(id))
    expect([first.status, first.error]).toEqual(['live', null])
    return { name, id: id as string, first }
  }

  /** What edges are told about the app, and its sandboxes. */
  async function placeOf(app: string) {
    const [place] = await edgeApps(harness.pool, [app])
    return { state: place?.state, sandboxes: place?.sandbox_ids }
  }
  const sandboxesOf = async (app: string) =>
    (await harness.pool.query('select id from sandboxes where managed_id = $1', [app])).rows.map(({ id }) => id)

  /** The previous version serves, and nothing else is left in control or on the agent. */
  async function isAsBefore({ id, first }: Awaited<ReturnType<typeof served>>): Promise<void> {
    const { body } = await as('GET', `/v1/apps/${id}`)
    expect([body.status, body.active_deployment_id]).toEqual(['running', first.id])
    expect(await placeOf(id)).toEqual({ state: 'live', sandboxes: [first.sandbox_id] })
    await eventually(async () => (await sandboxesOf(id)).join() === first.sandbox_id)
    expect(agent.state.sandboxes.has(first.sandbox_id ?? '')).toBe(true)
  }

  /** Breaks the connection that holds the process's lock, so that other processes consider it dead. */
  async function loseHold(): Promise<void> {
    const { number } = control.control.lock
    const { rowCount } = await harness.pool.query(
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = $1 and granted`,
      [ProcessLock.PROCESS],
    )
    expect(rowCount).toBe(1)
    // The process may still believe that the number is its own.
    expect(await claimDeployments(harness.pool, 1, number)).toEqual([])
    await eventually(() => control.control.lock.number !== number)
  }

  const gone = 'the host of its sandbox went away'
  it.concurrent.each<readonly [GuestStep, string, GuestFault, string | RegExp]>([
    ['clone', 'git refuses', { exit: 128, stderr: 'fatal: not found' }, 'clone failed: fatal: not found'],
    ['clone', 'git says nothing', { exit: 1 }, 'clone failed: git ended with code 1'],
    ...['fatal: write error: No space left on device', 'Failure writing output to destination'].map(
      (stderr) =>
        [
          'clone',
          `its disk is full: ${stderr}`,
          { exit: 1, stderr: `${stderr}\nerror: fetch failed.` },
          'clone failed: there is no room for it on the disk',
        ] as const,
    ),
    ['clone', 'it takes too long', { told: 'command timeout after 300s' }, 'command timeout after 300s'],
    [
      'clone',
      'its VM is gone',
      { refused: 404, error: 'sandbox not found' },
      /^its sandbox could not go on: sandbox not/,
    ],
    ['clone', 'its agent is killed', 'cut', gone],
    ['read', 'the folder is not there', { exit: 3 }, 'root_directory  is not in the repository'],
    ['read', 'the folder leads out', { exit: 4 }, 'root_directory  leads out of the repository'],
    ['install', 'it fails', { exit: 7, stderr: 'no such package' }, 'install failed with code 7: no such package'],
    ['install', 'it takes too long', { told: 'command timeout after 5s' }, 'command timeout after 5s'],
    ['install', 'its agent is killed', 'cut', gone],
    [
      'build',
      'the disk is full',
      { exit: 1, stderr: 'No space left on device' },
      /^build failed with code 1: No space left/,
    ],
    ['build', 'it is killed for its memory', { exit: 137 }, 'build failed with code 137'],
    ['build', 'its VM dies', { told: 'the sandbox ended' }, 'the sandbox ended'],
    ['build', 'its agent is killed', 'cut', gone],
    ['build', 'all of it takes too long', 'hang', 'it took longer than 10 s'],
    ['start', 'its sandbox is paused', { refused: 409, error: 'paused' }, 'its sandbox could not go on: paused'],
    ['start', 'its agent is killed', 'cut', gone],
    [
      'health',
      'nothing listens',
      { refused: 502, error: 'nothing listens' },
      /^not healthy in time on port 3000: .*; it listens on 8080: set port/,
    ],
    ['health', 'it answers 500', { page: 500 }, /^not healthy in time on port 3000: it answered 500/],
    ['health', 'its agent is killed', 'cut', /^not healthy in time on port 3000: /],
    ['mark', 'its agent is killed', 'cut', gone],
  ])('that fails at %s (%s) leaves the version before', async (step, _what, fault, error) => {
    const app = await served()
    void guest.fail(app.name, step, fault)
    const failed = await over(app.id, await begin(app.id))
    expect([failed.status, failed.sandbox_id]).toEqual(['failed', null])
    expect(failed.error).toMatch(error)
    expect(failed.build_logs).toContain(`failed: ${failed.error}\n`)
    await isAsBefore(app)
  })

  it('whose app ends before it answers leaves the version before, and the next one goes well', async () => {
    const app = await served()
    void guest.fail(app.name, 'health', { refused: 502, error: 'nothing listens' })
    void guest.fail(app.name, 'look', { exit: 7 })
    expect((await over(app.id, await begin(app.id))).error).toMatch(/^the app ended with code 7 before it answered/)
    await isAsBefore(app)
    guest.heal(app.name)
    expect((await over(app.id, await begin(app.id))).status).toBe('live')
  })

  it.each<readonly [string, (id: string) => Promise<Handled | undefined>, string]>([
    [
      'has no memory for it',
      async () => ({ status: 507, body: { error: 'insufficient host memory for sandbox' } }),
      'insufficient host memory for sandbox',
    ],
    [
      'may start nothing',
      async () => ({ status: 402, body: { error: 'monthly free credit exhausted' } }),
      'monthly free',
    ],
    ['is broken', async () => ({ status: 500, body: { error: 'x' } }), ''],
  ])('whose host %s leaves the version before', async (_what, create, error) => {
    const app = await served()
    agent.onCreate = create
    const failed = await over(app.id, await begin(app.id))
    agent.onCreate = async () => undefined
    expect([failed.status, failed.sandbox_id]).toEqual(['failed', null])
    expect(failed.error).toContain(error)
    await isAsBefore(app)
  })

  it.concurrent.each<GuestStep>(['clone', 'install', 'build', 'start', 'mark'])(
    'that is cancelled at %s leaves the version before',
    async (step) => {
      const app = await served()
      const reached = guest.fail(app.name, step, 'hang')
      const id = await begin(app.id)
      await reached
      expect((await as('POST', `/v1/apps/${app.id}/deploys/${id}/cancel`)).status).toBe(202)
      const failed = await over(app.id, id)
      expect(failed).toMatchObject({ status: 'failed', error: 'cancelled', sandbox_id: null })
      expect(failed.build_logs).toMatch(/\nfailed: cancelled\n$/)
      await isAsBefore(app)
    },
  )

  it('whose process loses its hold on it at any step is done again, by one alone', async () => {
    for (const step of ['build', 'mark'] as const) {
      const app = await served()
      const reached = guest.fail(app.name, step, 'hang')
      const id = await begin(app.id)
      await reached
      guest.heal(app.name)
      await loseHold()
      const done = await over(app.id, id)
      expect([done.status, done.error]).toEqual(['live', null])
      expect(done.build_logs).toContain('the service was interrupted: from the beginning')
      expect(done.build_logs).not.toContain('failed')
      expect(await placeOf(app.id)).toEqual({ state: 'live', sandboxes: [done.sandbox_id] })
      const kept = new Set([app.first.sandbox_id, done.sandbox_id])
      await eventually(async () => {
        const left = await sandboxesOf(app.id)
        return left.length === kept.size && left.every((each) => kept.has(each))
      })
    }
  })

  it('that is interrupted each time it is tried has failed', async () => {
    const app = await served()
    const first = guest.fail(app.name, 'clone', 'hang')
    const id = await begin(app.id)
    await first
    const second = guest.fail(app.name, 'clone', 'hang')
    await loseHold()
    await second
    await loseHold()
    const error = 'the service was interrupted each time it was tried'
    expect(await over(app.id, id)).toMatchObject({ status: 'failed', error })
    await isAsBefore(app)
  })

  it('that cannot be made live leaves the version before', async () => {
    const app = await served()
    await harness.pool.query(`create function refuse() returns trigger language plpgsql as $$ begin
      raise exception 'no room'; end $$`)
    await harness.pool.query(
      `create trigger refuse before update of active_deployment_id on apps for each row execute function refuse()`,
    )
    const failed = await over(app.id, await begin(app.id))
    await harness.pool.query('drop trigger refuse on apps')
    expect(failed).toMatchObject({ status: 'failed', error: 'internal error: no room', sandbox_id: null })
    await isAsBefore(app)
  })

  it('serves although the version before cannot be put to sleep, which is tried again', async () => {
    const app = await served()
    let refused = 0
    agent.onAction = async (action, id) => {
      if (action !== 'hibernate' || id !== app.first.sandbox_id || refused === 2) return undefined
      refused += 1
      return { status: 500, body: { error: 'disk is full' } }
    }
    await harness.pool.query(`update app_deployments set drain_until = now() where id = $1`, [app.first.id])
    const next = await over(app.id, await begin(app.id))
    expect(await placeOf(app.id)).toEqual({ state: 'live', sandboxes: [next.sandbox_id] })
    await harness.pool.query(`update app_deployments set drain_until = now() where id = $1`, [app.first.id])
    await eventually(() => agent.state.sandboxes.get(app.first.sandbox_id ?? '')?.status === 'hibernated')
    expect(refused).toBe(2)
    agent.onAction = async () => undefined
  })

  it('whose host dies leaves the version before, which serves once the host is back', async () => {
    const app = await served()
    const reached = guest.fail(app.name, 'build', 'hang')
    const id = await begin(app.id)
    await reached
    const { state, port } = agent
    await agent.kill()
    const failed = await over(app.id, id)
    expect(failed).toMatchObject({ status: 'failed', error: gone, sandbox_id: null })
    agent = await FakeAgent.start({ templates: ['app'], state, port })
    guest = new FaultyGuest(agent)
    await eventually(() => control.control.fleet.agents.every(({ isReachable }) => isReachable))
    await isAsBefore(app)
  })
})

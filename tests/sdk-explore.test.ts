/** @module-tag long */
import { explore, Offshoot as Client, type Sandbox } from '@offshoot/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repair } from '../packages/sdk/examples/repair.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

const noScore = async () => Promise.reject(new Error('no score'))

describe('explore', () => {
  let client: Client
  let sandbox: Sandbox
  const ids = async () => (await client.sandboxes.list().all()).map(({ id }) => id)

  beforeAll(async () => {
    const { credentials } = await borrow()
    client = new Client({ baseUrl: credentials.base_url, apiKey: credentials.api_key })
    sandbox = await client.sandboxes.create({ template: 'minimal' })
  })
  afterAll(giveBack)

  it('repairs a failing test with one of eight patches, and keeps only its fork', async () => {
    const found = await repair(sandbox)
    expect(found.best).toMatchObject({ name: 'echo $(($1 + $2))', score: 4 })
    expect(found.ended).toBe('stopAt')
    expect(found.branches).toHaveLength(8)
    expect(found.branches[1]).toMatchObject({ outcome: 'scored', score: 0 })
    // The last branch sleeps: it runs or waits when the search ends.
    expect(found.branches[7]?.outcome).toMatch(/cancelled|skipped/)
    expect(new Set(await ids())).toEqual(new Set([sandbox.id, found.best?.sandbox.id]))
    await found[Symbol.asyncDispose]()
    expect(await ids()).toEqual([sandbox.id])
  })

  it('names failed and skipped branches, and stays within its budget', { tags: ['long'] }, async () => {
    const fails = { name: 'fails', run: () => Promise.reject(new Error('no')) }
    const works = { name: 'works', run: async () => 1 }
    const options = { score: () => null, concurrency: 1, budget: { forks: 2 } }
    const { best, branches, ended } = await explore(sandbox, [fails, works, { ...works, name: 'late' }], options)
    expect([best, ended]).toEqual([null, 'forks'])
    expect(branches.map(({ outcome }) => outcome)).toEqual(['failed', 'scored', 'skipped'])
    const timed = await explore(
      sandbox,
      [{ name: 'slow', run: (fork, signal) => fork.exec('sleep 600', { signal }) }],
      { score: () => 1, budget: { timeMs: 1500 } },
    )
    expect([timed.best, timed.ended, timed.branches[0]?.outcome]).toEqual([null, 'time', 'cancelled'])
    const never = new Promise<number>(() => undefined)
    const unscored = await explore(sandbox, [works], { score: () => never, budget: { timeMs: 1500 } })
    expect([unscored.best, unscored.ended, unscored.branches[0]?.outcome]).toEqual([null, 'time', 'cancelled'])
    expect(await ids()).toEqual([sandbox.id])
  })

  it('deletes every fork when it is aborted or throws', async () => {
    const aborter = new AbortController()
    const branch = {
      name: 'aborts',
      run: async (fork: Sandbox) => {
        aborter.abort(new Error('enough'))
        return fork.exec('sleep 600')
      },
    }
    await expect(explore(sandbox, [branch], { score: () => 1, signal: aborter.signal })).rejects.toThrow('enough')
    await expect(explore(sandbox, [{ name: 'a', run: async () => 1 }], { score: noScore })).rejects.toThrow('no score')
    await expect(explore(sandbox, [branch, branch], { score: () => 1 })).rejects.toThrow('names must differ')
    expect(await ids()).toEqual([sandbox.id])
  })
})

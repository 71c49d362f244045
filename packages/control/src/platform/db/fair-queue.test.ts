import { FairLimit } from '@offshoot/kit/fair-limit'
import { describe, expect, it } from 'vitest'
import { FairQueue } from './fair-queue.ts'

/** A queue whose tasks note their names when they begin, and end when `end` is called with the name. */
function queueOf(perTenant: number, total: number, patienceMs = 60_000) {
  const queue = new FairQueue(new FairLimit(perTenant, total), patienceMs)
  const begun: string[] = []
  const releases = new Map<string, () => void>()
  const add = async (tenant: string, name: string) => {
    releases.set(name, await queue.wait(tenant))
    begun.push(name)
  }
  const end = async (name: string) => {
    releases.get(name)?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { begun, add, end }
}

describe('FairQueue', () => {
  it('lets the tasks of one tenant begin in order, as many at a time as it may have', async () => {
    const { begun, add, end } = queueOf(2, 100)
    const all = Promise.all(['a1', 'a2', 'a3', 'a4'].map((name) => add('a', name)))
    await add('b', 'b1')
    expect(begun).toEqual(['a1', 'a2', 'b1'])
    await end('a2')
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3'])
    await end('a1')
    await all
    expect(begun.at(-1)).toBe('a4')
  })

  it('serves waiting tenants in turn, however long the queue of one is', async () => {
    const { begun, add, end } = queueOf(1, 4)
    await Promise.all([add('a', 'a1'), add('b', 'b1')])
    for (const name of ['a2', 'a3', 'a4']) void add('a', name)
    for (const name of ['b2', 'b3']) void add('b', name)
    for (const name of ['a1', 'b1', 'a2', 'b2', 'a3', 'b3']) await end(name)
    expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3', 'a4'])
  })

  it('refuses a task whose turn does not come, and goes on for the next', async () => {
    const { begun, add, end } = queueOf(1, 4, 1)
    await add('a', 'a1')
    await expect(add('a', 'a2')).rejects.toMatchObject({ kind: 'tooManyRequests', status: 429 })
    await end('a1')
    await add('a', 'a3')
    expect(begun).toEqual(['a1', 'a3'])
  })
})

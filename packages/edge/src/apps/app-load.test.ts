import { randomUUID } from 'node:crypto'
import type { EdgeApp } from '@offshoot/contract/edge-app'
import type { SandboxId } from '@offshoot/contract/ids'
import { beforeEach, describe, expect, it } from 'vitest'
import { AppLoad, instanceToken } from './app-load.ts'

describe('load of an app', () => {
  const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()] as SandboxId[] as [SandboxId, SandboxId, SandboxId]
  const app: EdgeApp = {
    id: randomUUID(),
    host: null,
    state: 'live',
    port: 80,
    domains: [],
    certificates: {},
    sandbox_ids: [a, b, c],
    max_instances: 3,
    is_sticky: false,
    visibility: 'public',
    is_changing: false,
    as_of: 1,
  }
  let asleep: Set<SandboxId>
  let load: AppLoad

  beforeEach(() => {
    asleep = new Set()
    load = new AppLoad((id) => !asleep.has(id))
  })

  it('is spread: the instance with the least under way is next, and those that sleep are left alone', () => {
    const ends = [a, b, c, a].map((id) => {
      expect(load.pick(app, null)).toBe(id)
      return load.begin(app, id).end
    })
    ends[2]?.()
    expect(load.pick(app, null)).toBe(c)
    asleep = new Set([a, c])
    expect(load.pick(app, null)).toBe(b)
    asleep.add(b)
    expect(load.pick(app, null)).toBe(a)
    expect(load.pick({ ...app, sandbox_ids: [] }, null)).toBeUndefined()
  })

  it('follows a visitor’s token as long as that instance is awake', () => {
    expect(load.pick(app, instanceToken(c))).toBe(c)
    expect(load.pick(app, 'f'.repeat(16))).toBe(a)
    asleep.add(c)
    expect(load.pick(app, instanceToken(c))).toBe(a)
  })

  it('says when a request is one too many for the instances that there are, if there may be more', () => {
    let times = 0
    load.onShort = () => {
      times += 1
    }
    const begin = (count: number, max: number) =>
      Array.from({ length: count }, () => load.begin({ ...app, sandbox_ids: [a], max_instances: max }, a))
    begin(10, 3)
    expect(times).toBe(0)
    begin(1, 1)
    expect(times).toBe(0)
    begin(1, 3)
    expect(times).toBe(1)
  })

  it('takes an instance for each ten requests; what is ended, or upgraded, does not count, once', () => {
    expect(load.needed(app.id)).toBe(1)
    const all = Array.from({ length: 11 }, () => load.begin(app, a))
    expect(load.needed(app.id)).toBe(2)
    all[0]?.upgraded()
    all[0]?.upgraded()
    expect(load.needed(app.id)).toBe(1)
    for (const { end } of [...all, ...all]) end()
    expect([...load.busy]).toEqual([])
  })
})

import { expect, it } from 'vitest'
import { keepFollowing } from './keep-following.ts'

it('follows again after each end, and reports the first error of each outage only', async () => {
  const stopped = new AbortController()
  const errors: unknown[] = []
  /** `true`: the service is there. */
  const rounds = [true, false, false, true, false]
  const follow = async (onConnected: () => void) => {
    const isThere = rounds.shift()
    if (isThere === undefined) return stopped.abort()
    if (isThere) return onConnected()
    throw new Error(`${rounds.length} rounds left`)
  }
  await keepFollowing({ follow, onOutage: (error) => errors.push((error as Error).message) }, stopped.signal)
  expect(errors).toEqual(['3 rounds left', '0 rounds left'])
})

it('reports no error after it was stopped', async () => {
  const stopped = new AbortController()
  const errors: unknown[] = []
  const follow = async () => {
    stopped.abort()
    throw new Error('the connection was closed')
  }
  await keepFollowing({ follow, onOutage: (error) => errors.push(error) }, stopped.signal)
  expect(errors).toEqual([])
})

import { describe, expect, it } from 'vitest'
import { SilentHosts } from './silent-hosts.ts'

const LEASE = { agent_id: 'host', renewals: 7, seconds: 40, incarnation: 'one' }
/** Milliseconds until such a lease has ended. */
const ENDED_MS = 43_000

/** A look at these leases, some milliseconds after the last one. */
const start = () => {
  let nowMs = 1_000_000
  const hosts = new SilentHosts(() => nowMs)
  return (afterMs: number, leases: Parameters<SilentHosts['ended']>[0] = [LEASE]) => {
    nowMs += afterMs
    return hosts.ended(leases).map(({ agent_id: id }) => id)
  }
}

describe('the end of a lease of a silent host', () => {
  it('comes when it was not renewed for longer than it lasts', () => {
    const look = start()
    expect([look(0), look(40_000), look(3_000), look(1)]).toEqual([[], [], [], ['host']])
  })

  it('is not known before the process has seen it for so long', () => {
    const look = start()
    expect(look(1_000_000)).toEqual([])
  })

  it('is counted anew after a renewal', () => {
    const look = start()
    look(0)
    expect(look(ENDED_MS, [{ ...LEASE, renewals: 8 }])).toEqual([])
    expect(look(ENDED_MS, [{ ...LEASE, renewals: 8 }])).toEqual([])
    expect(look(1, [{ ...LEASE, renewals: 8 }])).toEqual(['host'])
  })

  it('is counted anew in another incarnation of the database', () => {
    const look = start()
    look(0)
    expect(look(ENDED_MS + 1, [{ ...LEASE, incarnation: 'two' }])).toEqual([])
  })

  it('is counted anew after the host was heard', () => {
    const look = start()
    look(0)
    expect(look(ENDED_MS, [])).toEqual([])
    expect(look(1)).toEqual([])
  })

  it('comes later for a lease that lasts longer', () => {
    const look = start()
    look(0)
    expect(look(ENDED_MS + 1, [LEASE, { ...LEASE, agent_id: 'other', seconds: 41 }])).toEqual(['host'])
  })
})

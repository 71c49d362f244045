import { expect, it } from 'vitest'
import { addressOfSlot, networkOfSlots, runsOfSlots, slotOfGuest, slotOfTap } from './slot-address.ts'

const BASE = '10.213.0.0'

it('gives every slot addresses and names of its own', () => {
  const all = Array.from({ length: 16_384 }, (_unused, slot) => addressOfSlot(BASE, slot))
  for (const field of ['tap', 'ip', 'gateway', 'mac'] as const) {
    expect(new Set(all.map((address) => address[field])).size).toBe(all.length)
  }
  expect(all[0]).toEqual({ slot: 0, tap: 'ofs0', gateway: '10.213.0.1', ip: '10.213.0.2', mac: '02:0f:f5:00:00:00' })
  expect(all.at(-1)).toMatchObject({ ip: '10.213.255.254', mac: '02:0f:f5:00:3f:ff' })
})

it('finds a slot by the name of its TAP and by its guest', () => {
  for (const slot of [0, 1, 255, 256, 16_383]) {
    const { tap, ip, gateway } = addressOfSlot(BASE, slot)
    expect([slotOfTap(tap), slotOfGuest(BASE, ip), slotOfGuest(BASE, gateway)]).toEqual([slot, slot, null])
  }
  expect(['eth0', 'ofs', 'ofs01', 'ofs-1', 'ofs1a', 'xofs1', 'ofs12345678'].map(slotOfTap)).toEqual(Array(7).fill(null))
  expect(['10.212.255.254', '127.0.0.1', ''].map((ip) => slotOfGuest(BASE, ip))).toEqual([null, null, null])
})

it('computes the network of a block', () => {
  expect([networkOfSlots(BASE, 0, 256), networkOfSlots(BASE, 256, 256)]).toEqual(['10.213.0.0/22', '10.213.4.0/22'])
})

it.each([
  [[], []],
  [[7], ['10.213.0.28/30']],
  [Array.from({ length: 16 }, (_unused, slot) => slot), ['10.213.0.0/26']],
  [
    [6, 7, 8, 9, 10, 11],
    ['10.213.0.24/29', '10.213.0.32/28'],
  ],
  [
    [3, 1, 2, 2],
    ['10.213.0.4/30', '10.213.0.8/29'],
  ],
  [
    [0, 2, 256, 257],
    ['10.213.0.0/30', '10.213.0.8/30', '10.213.4.0/29'],
  ],
])('covers %j with networks, and no other slot', (slots, networks) => {
  const runs = runsOfSlots(slots)
  expect(runs.map(({ first, count }) => networkOfSlots(BASE, first, count))).toEqual(networks)
  const covered = runs.flatMap(({ first, count }) => Array.from({ length: count }, (_unused, index) => first + index))
  expect(covered).toEqual([...new Set(slots)].toSorted((a, b) => a - b))
})

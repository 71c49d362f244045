import { expect, it } from 'vitest'
import { addressOfSlot, networkOfSlots, slotOfGuest, slotOfTap } from './slot-address.ts'

const BASE = '10.213.0.0'

it('gives every slot what no other has', () => {
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

it('names the network of a block', () => {
  expect([networkOfSlots(BASE, 0, 256), networkOfSlots(BASE, 256, 256)]).toEqual(['10.213.0.0/22', '10.213.4.0/22'])
})

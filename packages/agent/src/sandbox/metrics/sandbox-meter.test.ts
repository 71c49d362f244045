import { expect, it } from 'vitest'
import { type Reading, SandboxMeter } from './sandbox-meter.ts'
import type { UsageRecord } from '../../store/sandboxes/usage-file.ts'

const FIRST = { pid: 100, startTicks: 1 }
const SECOND = { pid: 100, startTicks: 2 }

function meterFrom(record: UsageRecord | null = null): SandboxMeter {
  return new SandboxMeter({ maxSamples: 360, hasNetwork: true, record })
}

function reading(
  process: Reading['process'],
  cpuSeconds: number,
  [inBytes, outBytes]: [number, number],
  readAtMs: number,
) {
  return { process, cpuSeconds, hostPrivateBytes: 10, traffic: { inBytes, outBytes, readAtMs } }
}

const counted = (meter: SandboxMeter) => {
  const { cpu_seconds, network_in_bytes, network_out_bytes } = meter.now(0)
  return [cpu_seconds, network_in_bytes, network_out_bytes]
}

it('counts a VM’s CPU time from its start, and its traffic from the first reading: earlier guests used the TAP', () => {
  const meter = meterFrom()
  meter.read(reading(FIRST, 0.5, [1000, 2000], 1))
  expect(counted(meter)).toEqual([0.5, 0, 0])
  meter.read(reading(FIRST, 0.75, [1010, 2003], 2))
  expect(counted(meter)).toEqual([0.75, 10, 3])
})

it('adds the usage of a second VM to the totals', () => {
  const meter = meterFrom()
  meter.read(reading(FIRST, 1, [0, 0], 1))
  meter.read(reading(FIRST, 2, [5, 6], 2))
  meter.setDisk(20)
  meter.end()
  expect(meter.now(0)).toMatchObject({ cpu_seconds: 2, memory_host_private_bytes: 0, disk_bytes: 20 })
  // Even with the same pid: the start time distinguishes the processes.
  meter.read(reading(SECOND, 0.25, [500, 600], 3))
  meter.read(reading(SECOND, 0.5, [501, 602], 4))
  expect(counted(meter)).toEqual([2.5, 6, 8])
})

it('counts what a VM used while no agent ran, to the byte', () => {
  const before = meterFrom()
  before.read(reading(FIRST, 1, [100, 200], 1))
  before.read(reading(FIRST, 2, [110, 220], 2))
  const after = meterFrom(JSON.parse(JSON.stringify(before.record())) as UsageRecord)
  expect(counted(after)).toEqual([2, 10, 20])
  after.read(reading(FIRST, 7, [150, 290], 1))
  expect(counted(after)).toEqual([7, 50, 90])
})

it('never decreases, neither after a late reading nor after its TAP was created again', () => {
  const meter = meterFrom()
  meter.read(reading(FIRST, 1, [100, 100], 1))
  meter.read(reading(FIRST, 2, [300, 300], 3))
  meter.read(reading(FIRST, 2, [200, 200], 2))
  expect(counted(meter)).toEqual([2, 200, 200])
  meter.read(reading(FIRST, 2, [301, 302], 4))
  expect(counted(meter)).toEqual([2, 201, 202])
  meter.read(reading(FIRST, 2, [3, 4], 5))
  expect(counted(meter)).toEqual([2, 204, 206])
})

it('reports unknown traffic if the host counts none', () => {
  const meter = new SandboxMeter({ maxSamples: 360, hasNetwork: false, record: null })
  meter.read({ ...reading(FIRST, 1, [1, 1], 1), traffic: null })
  expect(counted(meter)).toEqual([1, null, null])
})

it('keeps the guest’s answer about its memory with its time, and in one sample only', () => {
  const meter = meterFrom()
  meter.setGuestUsed(77, 5_000)
  meter.keep(10_000)
  meter.keep(20_000)
  expect(meter.points(0, 10_000).map((point) => point.memory_guest_used_bytes)).toEqual([77, null])
  const known = { memory_guest_used_bytes: 77, memory_guest_used_ts: '1970-01-01T00:00:05.000Z' }
  expect(meter.now(30_000)).toMatchObject(known)
  const after = meterFrom(meter.record())
  expect(after.now(0)).toMatchObject(known)
  after.keep(40_000)
  expect(after.points(0, 10_000)[0]?.memory_guest_used_bytes).toBeNull()
})

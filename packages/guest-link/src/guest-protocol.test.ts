/** Hosts that die, break the protocol or are malicious. After each test the guest must serve a correct host. */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:os'
import {
  encodeFrame,
  encodeMessage,
  FRAME_PAYLOAD_MAX_BYTES,
  FrameFlag,
  FrameType,
  GUEST_WINDOW_MAX_BYTES,
} from '@offshoot/contract/guest-frame'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readErrorPayload } from './payloads.ts'
import { encodeCommand } from './guest-command.ts'
import { HostGuest } from './testing/host-guest.ts'
import { RawHost } from './testing/raw-host.ts'
import { runToEnd } from './testing/run-to-end.ts'

let guest: HostGuest

beforeEach(async () => {
  guest = await HostGuest.start()
  // Waits until the guest listens.
  const link = await guest.connect()
  link.close()
})

afterEach(async () => {
  try {
    const link = await guest.connect()
    const answer = await runToEnd(link, 'echo served')
    link.close()
    if (String(answer.stdout) !== 'served\n') throw new Error('the guest no longer serves')
  } finally {
    await guest.stop()
  }
})

const run = (stream: number, ...argv: string[]) => encodeMessage(FrameType.run, stream, encodeCommand({ argv }))
const credit = (target: number, bytes: number) =>
  Uint8Array.of(target, bytes & 0xff, bytes >> 8, bytes >> 16, bytes >> 24)

describe('a host that dies in the middle of a frame', () => {
  it('at any byte is followed by a host that is served', async () => {
    const frame = run(9, 'sh', '-c', 'echo never')
    for (let at = 0; at <= frame.length; at++) {
      const raw = await RawHost.connect(guest.socketPath)
      await raw.hello()
      raw.write(frame.subarray(0, at))
      await raw.die()
      const link = await guest.connect()
      expect((await runToEnd(link, `echo ${at}`)).stdout.toString()).toBe(`${at}\n`)
      link.close()
    }
  })

  it('of the maximum size is followed by a host that is served', async () => {
    const frame = encodeFrame(FrameType.ping, 1, randomBytes(FRAME_PAYLOAD_MAX_BYTES))
    for (const at of [1, 8, 9, 4096, 16_384, frame.length - 1]) {
      const raw = await RawHost.connect(guest.socketPath)
      await raw.hello()
      raw.write(frame.subarray(0, at))
      await raw.die()
      const next = await RawHost.connect(guest.socketPath)
      await next.hello()
      next.send(FrameType.ping, 5, Buffer.from('still there'))
      expect(Buffer.from((await next.expect(FrameType.pong)).payload).toString()).toBe('still there')
      await next.die()
    }
  })

  it('may come back on the same connection, because HELLO starts a new session', async () => {
    const raw = await RawHost.connect(guest.socketPath)
    await raw.hello()
    raw.write(run(1, 'sleep', '1000'))
    await raw.expect(FrameType.started)
    await raw.hello()
    raw.write(run(1, 'true'))
    expect([...(await raw.expect(FrameType.exit)).payload]).toEqual([0, 0])
    await raw.die()
  })
})

it('decodes frames that arrive one byte at a time', async () => {
  const raw = await RawHost.connect(guest.socketPath)
  await raw.hello()
  for (const byte of run(3, 'sh', '-c', 'echo slow')) {
    raw.write(Uint8Array.of(byte))
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(Buffer.from((await raw.expect(FrameType.stdout)).payload).toString()).toBe('slow\n')
  await raw.die()
})

it('decodes frames that arrive in pieces of any size', async () => {
  const raw = await RawHost.connect(guest.socketPath)
  await raw.hello()
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 3000 }), { minLength: 1, maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 }),
      async (payloads, sizes) => {
        raw.frames.length = 0
        const bytes = Buffer.concat(payloads.map((payload, i) => encodeFrame(FrameType.ping, i + 1, payload)))
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1
          raw.write(bytes.subarray(at, at + size))
          at += size
          await new Promise((resolve) => setImmediate(resolve))
        }
        raw.send(FrameType.quiesce, 99)
        await raw.expect(FrameType.quiesced)
        const pongs = raw.frames.filter((frame) => frame.type === FrameType.pong)
        expect(pongs.map((pong) => Buffer.from(pong.payload))).toEqual(payloads.map((payload) => Buffer.from(payload)))
      },
    ),
    { numRuns: 30 },
  )
  await raw.die()
})

describe('the previous protocol version', () => {
  it('of a host is served by the guest', async () => {
    const raw = await RawHost.connect(guest.socketPath)
    const ack = await raw.hello(5)
    expect(Buffer.from(ack.payload).readUInt16LE(16)).toBe(5)
    raw.send(FrameType.ping, 1)
    await raw.expect(FrameType.pong)
    await raw.die()
  })

  it('of a guest is served by the host', { tags: ['faults'] }, async () => {
    const earlier = await HostGuest.start(5)
    try {
      const link = await earlier.connect()
      expect(link.hello.protocolVersion).toBe(5)
      expect((await runToEnd(link, 'echo ran')).stdout.toString()).toBe('ran\n')
      link.close()
    } finally {
      await earlier.stop()
    }
  })
})

describe('a host that breaks the protocol', () => {
  it.each([4, 77])('by version %i gets the version of the guest, then RESET', async (version) => {
    const raw = await RawHost.connect(guest.socketPath)
    const ack = await raw.hello(version)
    expect(Buffer.from(ack.payload).readUInt16LE(16)).toBe(6)
    raw.send(FrameType.ping, 1)
    const reset = await raw.expect(FrameType.reset)
    expect(readErrorPayload(reset.payload).text).toBe('no HELLO of this protocol version')
    await raw.die()
  })

  it('by an unknown frame type gets ENOSYS on that stream, and is still served', async () => {
    const raw = await RawHost.connect(guest.socketPath)
    await raw.hello()
    raw.send(200, 41, Buffer.from('from the future'))
    const answer = await raw.expect(FrameType.error)
    expect(answer.stream).toBe(41)
    expect(readErrorPayload(answer.payload).errno).toBe(constants.errno.ENOSYS)
    raw.send(FrameType.ping, 42)
    await raw.expect(FrameType.pong)
    await raw.die()
  })

  it.each<[string, readonly Uint8Array[]]>([
    [
      // Twelve frames, because an unread pipe takes one window more.
      'stdin beyond its window',
      Array.from({ length: 12 }, () => encodeFrame(FrameType.stdin, 1, new Uint8Array(16_384))),
    ],
    ['credit beyond the window', [encodeFrame(FrameType.credit, 1, credit(1, GUEST_WINDOW_MAX_BYTES + 1))]],
    ['credit for stdin', [encodeFrame(FrameType.credit, 1, credit(0, 1))]],
    ['a short CREDIT', [encodeFrame(FrameType.credit, 1, Uint8Array.of(1))]],
    ['a stream id in use', [run(1, 'true')]],
    ['stream id 0', [run(0, 'true')]],
    ['a short RESIZE', [encodeFrame(FrameType.resize, 1, Uint8Array.of(1))]],
    ['an ATTACH without an id', [encodeFrame(FrameType.attach, 2, new Uint8Array(8))]],
    ['an ATTACH on a live stream', [encodeFrame(FrameType.attach, 1, new Uint8Array(9))]],
    ['a SIGNAL of number 0', [encodeFrame(FrameType.signal, 2, Uint8Array.of(0, 65))]],
    ['a FORGET without an id', [encodeFrame(FrameType.forget, 2)]],
    ['signal 0', [encodeFrame(FrameType.kill, 1, Uint8Array.of(0))]],
    ['signal 65', [encodeFrame(FrameType.kill, 1, Uint8Array.of(65))]],
    ['an empty RUN', [encodeFrame(FrameType.run, 2)]],
    [
      'a RUN without its strings',
      [encodeFrame(FrameType.run, 2, Uint8Array.of(...Buffer.alloc(10), 3, 0, 0, 0, 65, 66))],
    ],
    [
      'a RUN with more strings than it announces',
      [encodeFrame(FrameType.run, 2, Uint8Array.of(...Buffer.alloc(10), 1, 0, 0, 0, 0, 0, 0, 0, 0, 65, 0, 66, 0))],
    ],
    [
      'an interrupted message',
      [encodeFrame(FrameType.run, 2, Uint8Array.of(1), FrameFlag.more), encodeFrame(FrameType.ping, 3)],
    ],
    ['a payload over the maximum', [Uint8Array.of(3, 0, 1, 0x40, 1, 0, 0, 0)]],
    ['a wrong trailer', [Uint8Array.of(3, 0, 0, 0, 1, 0, 0, 0, 1)]],
    ['a short HELLO', [encodeFrame(FrameType.hello, 0, Uint8Array.of(1, 0))]],
  ])('by %s is reset', async (_what, frames) => {
    const raw = await RawHost.connect(guest.socketPath)
    await raw.hello()
    raw.write(run(1, 'sleep', '1000'))
    await raw.expect(FrameType.started)
    for (const frame of frames) raw.write(frame)
    expect(readErrorPayload((await raw.expect(FrameType.reset)).payload).errno).toBe(constants.errno.EPROTO)
    // The guest is lost until the next HELLO, so it ignores a correct frame.
    raw.send(FrameType.ping, 7)
    await raw.hello()
    expect(raw.frames.map((frame) => frame.type)).toEqual([FrameType.helloAck])
    await raw.die()
  })

  it('by a too long message fails that command only', async () => {
    const raw = await RawHost.connect(guest.socketPath)
    await raw.hello()
    raw.write(encodeMessage(FrameType.run, 2, Buffer.alloc(300_000, 65)))
    expect(readErrorPayload((await raw.expect(FrameType.failed)).payload).errno).toBe(constants.errno.E2BIG)
    raw.send(FrameType.ping, 3)
    await raw.expect(FrameType.pong)
    await raw.die()
  })

  it('by frames for ended streams is ignored', async () => {
    const raw = await RawHost.connect(guest.socketPath)
    await raw.hello()
    raw.write(run(1, 'true'))
    await raw.expect(FrameType.exit)
    raw.send(FrameType.stdin, 1, Buffer.from('late'))
    raw.send(FrameType.kill, 1, Uint8Array.of(9))
    raw.send(FrameType.credit, 1, credit(1, 5))
    raw.send(FrameType.ping, 3)
    expect((await raw.expect(FrameType.pong)).stream).toBe(3)
    await raw.die()
  })

  it('by arbitrary bytes or arbitrary frames never ends the guest', async () => {
    const bytes = fc.uint8Array({ maxLength: 400 })
    const frame = fc
      .tuple(fc.integer({ min: 2, max: 37 }), fc.integer({ min: 0, max: 3 }), bytes, fc.integer({ min: 0, max: 3 }))
      .map(([type, stream, payload, flags]) => encodeFrame(type, stream, payload, flags))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(bytes, frame), { maxLength: 20 }), async (pieces) => {
        const raw = await RawHost.connect(guest.socketPath)
        await raw.hello()
        for (const piece of pieces) raw.write(piece)
        expect((await raw.hello()).type).toBe(FrameType.helloAck)
        await raw.die()
      }),
      { numRuns: 150 },
    )
    // One of those frames may have been HOLD, which a lost host does not release.
    const raw = await RawHost.connect(guest.socketPath)
    await raw.hello()
    raw.send(FrameType.release, 1, Buffer.alloc(8 + 32))
    await raw.expect(FrameType.released)
    await raw.die()
  })
})

/** Incorrect and malicious guests: the link closes with the reason, and the host goes on. */
import { randomBytes } from 'node:crypto'
import { encodeFrame, encodeMessage, FrameFlag, FrameType, GuestProtocolError } from '@offshoot/contract/guest-frame'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { GuestLinkLost } from './guest-link-error.ts'
import { GuestLink } from './link.ts'
import { FakeGuest, helloAck, type Answer } from './testing/fake-guest.ts'
import { deadlineFor } from './testing/host-guest.ts'

let fake: FakeGuest | undefined

afterEach(async () => {
  await fake?.stop()
  fake = undefined
})

async function connectTo(answer: Answer): Promise<GuestLink> {
  fake = await FakeGuest.start(answer)
  return GuestLink.connect(fake.socketPath, deadlineFor('fake guest'))
}

const greet: Answer = (frame, socket) => {
  if (frame.type === FrameType.hello) socket.write(helloAck(frame))
}

const answerRun =
  (...frames: Uint8Array[]): Answer =>
  (frame, socket) => {
    greet(frame, socket)
    if (frame.type === FrameType.run) socket.write(Buffer.concat(frames))
  }

const answerRefresh =
  (...types: number[]): Answer =>
  (frame, socket) => {
    greet(frame, socket)
    if (frame.type !== FrameType.refresh) return
    for (const type of types) socket.write(encodeFrame(type, frame.stream, new Uint8Array(0)))
  }

const started = encodeFrame(FrameType.started, 1, Uint8Array.of(1, 0, 0, 0))

describe('a refresh', () => {
  const asked = { time: 1n, hostname: 'b', machineId: 'b'.repeat(32), entropy: randomBytes(32), env: {} }
  it('resolves `begun` before `settled`', async () => {
    const link = await connectTo(answerRefresh(FrameType.refreshed))
    const { begun, settled } = link.refresh(asked, deadlineFor('refresh'))
    await expect(begun).resolves.toBeUndefined()
    link.close()
    await expect(settled).rejects.toThrow(GuestLinkLost)
  })

  it('fails at its deadline, and when the guest sends another answer', async () => {
    const silent = await connectTo(answerRefresh(FrameType.refreshed))
    await expect(silent.refresh(asked, deadlineFor('refresh').within(20, 'settling')).settled).rejects.toThrow(
      'settling',
    )
    silent.close()
    const other = await connectTo(answerRefresh(FrameType.released))
    await expect(other.refresh(asked, deadlineFor('refresh')).begun).rejects.toThrow(GuestLinkLost)
    expect(await other.closed).toMatchObject({ reason: 'protocol' })
  })
})

describe('the handshake', () => {
  it('finds HELLO_ACK behind bytes for the previous host', async () => {
    const link = await connectTo((frame, socket) => {
      if (frame.type !== FrameType.hello) return
      const stale = encodeFrame(FrameType.stdout, 4, randomBytes(5000)).subarray(777)
      const bytes = Buffer.concat([stale, encodeFrame(FrameType.exit, 4, Uint8Array.of(0, 0)), helloAck(frame)])
      for (const byte of bytes.subarray(-120)) socket.write(Uint8Array.of(byte))
    })
    expect(link.hello.streamsMax).toBe(256)
    link.close()
  })

  it('refuses another protocol version and names it', async () => {
    const connecting = connectTo((frame, socket) => socket.write(helloAck(frame, 1)))
    await expect(connecting).rejects.toThrow(GuestProtocolError)
    await expect(connecting).rejects.toThrow('the guest speaks protocol version 1, this host versions 5 to 6')
  })

  it('fails with GuestLinkLost when the guest hangs up', async () => {
    await expect(connectTo((_frame, socket) => socket.destroy())).rejects.toThrow(GuestLinkLost)
  })
})

const bytes = (count: number) => encodeMessage(FrameType.stdout, 1, new Uint8Array(count))

describe('a guest that breaks the protocol', () => {
  it.each<[string, readonly Uint8Array[]]>([
    ['output beyond the window', [started, bytes(70_000)]],
    ['output before STARTED', [bytes(1)]],
    ['STARTED twice', [started, started]],
    ['a short EXIT', [started, encodeFrame(FrameType.exit, 1)]],
    ['FAILED after STARTED', [started, encodeFrame(FrameType.failed, 1, new Uint8Array(4))]],
    ['credit beyond the window', [started, encodeFrame(FrameType.credit, 1, Uint8Array.of(0, 255, 255, 255, 255))]],
    ['an unknown stream', [encodeFrame(FrameType.stdout, 1234)]],
    ['an unknown frame type', [started, encodeFrame(200, 1)]],
    ['bytes that are not a frame', [Uint8Array.of(1, 1, 255, 255, 1, 1, 1, 1)]],
    ['RESET', [encodeFrame(FrameType.reset, 0, Buffer.from('\x01\0\0\0why'))]],
  ])('by %s ends the link', async (_what, frames) => {
    const link = await connectTo(answerRun(...frames))
    const ended = link.run({ argv: ['x'] }).then((child) => child.exited)
    const closed = await deadlineFor('the link to close').race(link.closed)
    expect(closed.reason).toBe('protocol')
    await expect(ended).rejects.toThrow(GuestLinkLost)
  })

  it('by arbitrary frames and bytes ends the link and nothing else', async () => {
    const noise = fc.uint8Array({ maxLength: 500 })
    const frame = fc
      .tuple(fc.integer({ min: 1, max: 46 }), fc.integer({ min: 0, max: 2 }), noise, fc.integer({ min: 0, max: 3 }))
      .map(([type, stream, payload, flags]) => encodeFrame(type, stream, payload, flags))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(noise, frame), { maxLength: 20 }), async (pieces) => {
        const link = await connectTo((frame, socket) => {
          greet(frame, socket)
          if (frame.type === FrameType.run) socket.end(Buffer.concat([started, ...pieces]))
        })
        const child = await link.run({ argv: ['x'] }).catch((error: unknown) => error)
        const closed = await deadlineFor('the link to close').race(link.closed)
        expect(['protocol', 'lost']).toContain(closed.reason)
        expect(child).toBeDefined()
        await fake?.stop()
      }),
      { numRuns: 200 },
    )
  })
})

it('small frames of an unread stream take little memory', async () => {
  const dot = encodeFrame(FrameType.stdout, 1, Uint8Array.of(46))
  const dots = Buffer.concat(Array.from({ length: 60_000 }, () => dot))
  const talk = answerRun(started, dots, encodeFrame(FrameType.stdout, 1, undefined, FrameFlag.end))
  const link = await connectTo((frame, socket) => {
    talk(frame, socket)
    if (frame.type === FrameType.ping) socket.write(encodeFrame(FrameType.pong, frame.stream))
  })
  const before = process.memoryUsage().heapUsed
  const child = await link.run({ argv: ['x'] })
  let seen = 0
  child.stdout.on('data', (chunk: Buffer) => (seen += chunk.length))
  child.stdout.pause()
  // The guest sends the answer after all the dots.
  await link.ping(deadlineFor('ping'))
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(32 * 1024 * 1024)
  child.stdout.resume()
  await new Promise((resolve) => child.stdout.on('end', resolve))
  expect(seen).toBe(60_000)
  link.close()
})

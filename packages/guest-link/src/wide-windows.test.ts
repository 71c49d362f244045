/** Wide windows: only for streams that are read, at most 32 of a link, and no stream loses bytes. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { encodeBytes, encodeFrame, FrameType, GUEST_WINDOW_BYTES } from '@offshoot/contract/guest-frame'
import { afterEach, expect, it } from 'vitest'
import type { GuestProcess } from './guest-process.ts'
import { GuestLink } from './link.ts'
import { FakeGuest, helloAck, type Answer } from './testing/fake-guest.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { until } from './testing/observe.ts'

const STREAMS = 40
const WIDE = 32
/** A stream that was granted so many bytes has a wide window by then, or never gets one. */
const ENOUGH_BYTES = 6 * GUEST_WINDOW_BYTES

let fake: FakeGuest | undefined
let guest: HostGuest | undefined

afterEach(async () => {
  await fake?.stop()
  await guest?.stop()
  fake = guest = undefined
})

interface Granted {
  bytes: number
  /** One CREDIT granted more than a narrow window holds. */
  isWide: boolean
}

/** Starts a guest that uses all credit up to {@link ENOUGH_BYTES} for output of each command, and counts the credit. */
async function generousGuest(): Promise<{ link: GuestLink; grants: Map<number, Granted> }> {
  const grants = new Map<number, Granted>()
  const answer: Answer = ({ type, stream, payload }, socket) => {
    const send = (bytes: number) => socket.write(encodeBytes(FrameType.stdout, stream, new Uint8Array(bytes)))
    if (type === FrameType.run) {
      socket.write(encodeFrame(FrameType.started, stream, Uint8Array.of(1, 0, 0, 0)))
      send(GUEST_WINDOW_BYTES)
    } else if (type === FrameType.credit) {
      const bytes = Buffer.from(payload).readUInt32LE(1)
      const before = grants.get(stream) ?? { bytes: 0, isWide: false }
      grants.set(stream, { bytes: before.bytes + bytes, isWide: before.isWide || bytes > GUEST_WINDOW_BYTES })
      if (before.bytes < ENOUGH_BYTES) send(bytes)
    } else if (type === FrameType.kill) {
      socket.write(encodeFrame(FrameType.exit, stream, Uint8Array.of(0, 9)))
    }
  }
  fake = await FakeGuest.start((frame, socket) => {
    if (frame.type === FrameType.hello) socket.write(helloAck(frame))
    else answer(frame, socket)
  })
  return { link: await GuestLink.connect(fake.socketPath, deadlineFor('fake guest')), grants }
}

async function startReading(link: GuestLink): Promise<GuestProcess> {
  const child = await link.run({ argv: ['x'], stdin: 'none' })
  child.stdout.resume()
  return child
}

it('32 streams that are read get wide windows, and another one after one has ended', async () => {
  const { link, grants } = await generousGuest()
  const all = (count: number) =>
    grants.size === count && [...grants.values()].every(({ bytes }) => bytes >= ENOUGH_BYTES)
  const wide = () => [...grants.values()].filter(({ isWide }) => isWide).length
  const first = await startReading(link)
  for (let i = 1; i < STREAMS; i++) await startReading(link)
  await until('every stream to be granted enough', () => all(STREAMS))
  expect(wide()).toBe(WIDE)

  const ended = once(first.stdout, 'close')
  first.kill('SIGKILL')
  await deadlineFor('the end of a stream').race(ended)
  await startReading(link)
  await until('the new stream to be granted enough', () => all(STREAMS + 1))
  expect(wide()).toBe(WIDE + 1)
  link.close()
})

it('an unread stream keeps a narrow window', async () => {
  const { link, grants } = await generousGuest()
  const unread = await link.run({ argv: ['x'], stdin: 'none' })
  await deadlineFor('output').race(once(unread.stdout, 'readable'))
  await startReading(link)
  await until('the other to be granted enough', () => (grants.get(2)?.bytes ?? 0) >= ENOUGH_BYTES)
  expect(grants.get(1)?.isWide ?? false).toBe(false)
  expect(grants.get(1)?.bytes ?? 0).toBeLessThanOrEqual(2 * GUEST_WINDOW_BYTES)
  link.close()
})

it('40 streams carry their bytes unchanged in both directions at once', async () => {
  guest = await HostGuest.start()
  const link = await guest.connect()
  const sent = randomBytes(1024 * 1024)
  const hash = createHash('sha1').update(sent).digest('hex')
  const echoed = Array.from({ length: STREAMS }, async () => {
    const child = await link.run({ argv: ['cat'] })
    child.stderr.resume()
    const seen = createHash('sha1')
    await Promise.all([pipeline(Readable.from([sent]), child.stdin), pipeline(child.stdout, seen)])
    return seen.digest('hex')
  })
  expect(await deadlineFor('echoes').race(Promise.all(echoed))).toEqual(Array.from({ length: STREAMS }, () => hash))
  link.close()
})

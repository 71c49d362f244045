import { readFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { encodeFrame, FrameType, GuestProtocolError } from '@offshoot/contract/guest-frame'
import { afterEach, expect, it } from 'vitest'
import { GuestLink } from './link.ts'
import { FakeGuest, helloAck } from './testing/fake-guest.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'

let stop: (() => Promise<void>) | undefined
afterEach(async () => {
  await stop?.()
  stop = undefined
})

/** Connects to a guest that answers MEMORY with this frame. */
async function linkTo(type: number, payload: Uint8Array): Promise<GuestLink> {
  const fake = await FakeGuest.start((frame, socket) => {
    if (frame.type === FrameType.hello) socket.write(helloAck(frame))
    if (frame.type === FrameType.memory) socket.write(encodeFrame(type, frame.stream, payload))
  })
  stop = () => fake.stop()
  return GuestLink.connect(fake.socketPath, deadlineFor('fake guest'))
}

it("a guest reports the kernel's figures of its memory", async () => {
  const guest = await HostGuest.start()
  stop = () => guest.stop()
  const link = await guest.connect()
  const { totalBytes, availableBytes } = await link.memory(deadlineFor('memory'))
  const kib = /^MemTotal:\s+(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'))?.[1]
  expect(totalBytes).toBe(Number(kib) * 1024)
  expect(availableBytes).toBeGreaterThan(0)
  expect(availableBytes).toBeLessThan(totalBytes)
  link.close()
})

it('the host refuses MEMORY_USAGE of another size', async () => {
  for (const bytes of [0, 15, 17, 4096]) {
    const link = await linkTo(FrameType.memoryUsage, new Uint8Array(bytes))
    await expect(link.memory(deadlineFor('memory'))).rejects.toThrow(GuestProtocolError)
    link.close()
    await stop?.()
  }
})

it('an older guest program fails with ENOSYS', async () => {
  const link = await linkTo(FrameType.error, Uint8Array.of(constants.errno.ENOSYS, 0, 0, 0))
  await expect(link.memory(deadlineFor('memory'))).rejects.toMatchObject({ errno: constants.errno.ENOSYS })
  link.close()
})

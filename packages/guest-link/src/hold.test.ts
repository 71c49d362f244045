import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rmdir } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { FrameType } from '@offshoot/contract/guest-frame'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GuestLinkLost, GuestUnavailable, GuestRequestError, GuestRunError } from './guest-link-error.ts'
import type { GuestLink } from './link.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { RawHost } from './testing/raw-host.ts'
import { runToEnd } from './testing/run-to-end.ts'

const { EAGAIN, EINVAL } = constants.errno

let guest: HostGuest
let link: GuestLink

const present = () => ({ time: new Date(), entropy: randomBytes(64) })
const release = (of = link) => of.release(present(), deadlineFor('release'))
const hold = (of = link) => of.hold(deadlineFor('hold'))

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
})

afterEach(async () => {
  await guest.stop()
  link.close()
})

describe('a held guest', () => {
  it('answers HOLD twice, and serves waiting requests after the release', async () => {
    await hold()
    await hold()
    await link.ping(deadlineFor('ping'))
    let isRunning = false
    const run = runToEnd(link, 'echo late').finally(() => {
      isRunning = true
    })
    const kept = link.keep({ argv: ['true'], stdin: 'none' }, { id: 'later' }, deadlineFor('keep'))
    const list = link.kept(deadlineFor('list'))
    await link.ping(deadlineFor('ping'))
    expect(isRunning).toBe(false)
    await release()
    expect((await run).stdout.toString()).toBe('late\n')
    expect((await kept).pid).toBeGreaterThan(0)
    expect((await list).map(({ id }) => id)).toEqual(['later'])
  })

  it('has served every request from before the hold', async () => {
    const asked = [link.run({ argv: ['sleep', '60'] }), link.kept(deadlineFor('list'))]
    let settled = 0
    for (const each of asked) void each.then(() => settled++)
    await hold()
    expect(settled).toBe(asked.length)
  })

  it('rejects waiting and new requests after rejectRequests, until the release', async () => {
    await hold()
    const ask = () => [
      link.run({ argv: ['touch', join(guest.root, 'ran')] }),
      link.keep({ argv: ['true'], stdin: 'none' }, { id: 'a' }, deadlineFor('keep')),
      link.kept(deadlineFor('list')),
      link.attach('a', {}, deadlineFor('attach')),
      link.signalKept('a', 'SIGKILL', deadlineFor('signal')),
      link.files.stat('/'),
    ]
    const waiting = Promise.allSettled(ask())
    link.rejectRequests()
    const coming = Promise.allSettled(ask())
    for (const outcome of [...(await waiting), ...(await coming)]) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(GuestUnavailable) })
    }
    await release()
    expect(await link.kept(deadlineFor('list'))).toEqual([])
    expect(existsSync(join(guest.root, 'ran'))).toBe(false)
    expect((await runToEnd(link, 'echo on')).stdout.toString()).toBe('on\n')
  })

  it('receives only requests about the hold while the link queues the others, and those afterwards', async () => {
    link.queueRequests()
    await hold()
    let isAnswered = false
    const answer = link.ping(deadlineFor('ping')).finally(() => {
      isAnswered = true
    })
    await hold()
    await hold()
    expect(isAnswered).toBe(false)
    await release()
    await answer
  })

  it('a waiting command fails at its deadline', async () => {
    await hold()
    await expect(link.run({ argv: ['true'] }, deadlineFor('run').within(20, 'run'))).rejects.toThrow('run')
  })

  it('delivers the output of a command after the release', async () => {
    const child = await link.run({ argv: ['sh', '-c', 'read line; echo "got $line"'], stdin: 'pipe' })
    await hold()
    child.stdin.end('early\n')
    await link.ping(deadlineFor('ping'))
    await release()
    expect((await child.stdout.toArray()).join('')).toBe('got early\n')
  })

  it('stays held when its host changes', async () => {
    await hold()
    const waiting = runToEnd(link, 'true')
    link.close()
    await expect(waiting).rejects.toThrow(GuestLinkLost)
    link = await guest.connect()
    const refused: unknown = await link.run({ argv: ['true'] }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(GuestRunError)
    expect(refused).toMatchObject({ errno: EAGAIN })
    await expect(link.quiesce(deadlineFor('quiesce'))).rejects.toMatchObject({ errno: EAGAIN })
    await release()
    expect((await runToEnd(link, 'echo on')).stdout.toString()).toBe('on\n')
  })

  it('is released by a refresh, but not by a failed one', async () => {
    await hold()
    const inTheWay = join(guest.root, 'etc/machine-id')
    await mkdir(inTheWay, { recursive: true })
    const identity = { hostname: 'box', machineId: 'a'.repeat(32), env: 'keep' as const }
    const halfway = link.refresh({ ...present(), ...identity }, deadlineFor('refresh'))
    await expect(halfway.settled).rejects.toThrow('machine id')
    await expect(halfway.begun).resolves.toBeUndefined()
    await expect(release()).rejects.toMatchObject({ errno: EAGAIN })
    const other = await RawHost.connect(guest.socketPath)
    link.close()
    await other.hello()
    other.send(FrameType.quiesce, 7)
    expect((await other.expect(FrameType.error)).stream).toBe(7)
    await other.die()
    link = await guest.connect()
    await rmdir(inTheWay)
    await link.refresh({ ...present(), ...identity }, deadlineFor('refresh')).settled
    expect((await runToEnd(link, 'echo on')).stdout.toString()).toBe('on\n')
    expect(readFileSync(join(guest.root, 'etc/hostname'), 'utf8')).toBe('box\n')
  })

  it('is not released by a malformed RELEASE', async () => {
    const host = await RawHost.connect(guest.socketPath)
    link.close()
    await host.hello()
    host.send(FrameType.hold, 1)
    await host.expect(FrameType.held)
    for (const bytes of [0, 8, 39, 521]) host.send(FrameType.release, 2 + bytes, Buffer.alloc(bytes))
    host.send(FrameType.quiesce, 1000)
    host.send(FrameType.release, 1001, Buffer.alloc(8 + 512))
    await host.expect(FrameType.released)
    const errors = host.frames.filter(({ type }) => type === FrameType.error)
    expect(errors.map(({ stream, payload }) => [stream, payload[0]])).toEqual([
      ...[2, 10, 41, 523].map((stream) => [stream, EINVAL]),
      [1000, EAGAIN],
    ])
    await host.die()
  })
})

it('a guest that is not held answers RELEASE too', async () => {
  await release()
  await expect(link.release({ time: 1n, entropy: randomBytes(31) }, deadlineFor('release'))).rejects.toThrow(
    GuestRequestError,
  )
})

import { constants } from 'node:os'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GuestRunError } from './guest-link-error.ts'
import type { LogChunk } from './log-output.ts'
import type { GuestLink } from './link.ts'
import { HostGuest } from './testing/host-guest.ts'
import { chunksOf, keptCommands, soon } from './testing/kept-commands.ts'
import { until } from './testing/observe.ts'

let guest: HostGuest
let link: GuestLink

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
})

afterEach(async () => {
  await guest.stop()
  link.close()
})

const { keep, attach, find, ended } = keptCommands(() => link)

const refusal = async (action: Promise<unknown>) => {
  const error = await action.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(GuestRunError)
  return (error as GuestRunError).errno
}

describe('limits of kept commands', () => {
  it('1024 running commands; one more after one has ended, which makes room', { tags: ['long'] }, async () => {
    const ids = Array.from({ length: 1024 }, (_, i) => `k${i}`)
    const label = 'l'.repeat(1024)
    for (const id of ids) await keep(id, 'read line; head -c 500000 /dev/zero', { label })
    expect((await link.kept(soon())).map((kept) => [kept.id, kept.label])).toEqual(ids.map((id) => [id, label]))
    expect(await refusal(keep('more', 'true'))).toBe(constants.errno.EAGAIN)
    const [unread, read] = [await attach('k7'), await attach('k8')]
    for (const { stdin } of [unread, read]) stdin.end('line\n')
    await ended('k7')
    await chunksOf(read)
    await keep('more', 'read line')
    // An ended command that is not read to its end stays.
    expect(await find('k7')).toMatchObject({ exit: { exitCode: 0 } })
    expect(await find('k8')).toBeUndefined()
  })

  it('64 MiB of logs; those of ended commands make room', async () => {
    const full = { logBytes: 16 * 1024 * 1024 }
    for (const id of ['k0', 'k1']) await keep(id, 'head -c 16000000 /dev/zero; read line', full)
    for (const id of ['k0', 'k1']) {
      await until('the log is full', async () => (await find(id))?.nextOffset === 16_000_000)
    }
    await keep('ends', 'head -c 14000000 /dev/zero', full)
    await ended('ends')
    expect(await find('ends')).toMatchObject({ oldestOffset: 0, nextOffset: 14_000_000 })
    await keep('next', 'head -c 14000000 /dev/zero; read line', full)
    await until('the output is read', async () => (await find('next'))?.nextOffset === 14_000_000)
    expect(await find('next')).toMatchObject({ oldestOffset: 0 })
    expect(await find('ends')).toBeUndefined()
    await keep('last', 'head -c 9000000 /dev/zero; read line', full)
    await until('the output is read', async () => (await find('last'))?.nextOffset === 9_000_000)
    expect((await find('last'))?.oldestOffset).toBeGreaterThan(0)
  })

  it('commands of one process id, or of one id', async () => {
    await keep('one', 'true')
    const { pid } = await keep('two', 'true')
    expect((await link.kept(soon(), { pid })).map((kept) => kept.id)).toEqual(['two'])
    expect((await link.kept(soon(), { id: 'one' })).map((kept) => kept.id)).toEqual(['one'])
    expect(await link.kept(soon(), { id: 'one', pid })).toEqual([])
  })

  it('the id, the size of the log and the program of a request', async () => {
    await keep('twice', 'true')
    expect(await refusal(keep('twice', 'true'))).toBe(constants.errno.EEXIST)
    expect(await refusal(keep('small', 'true', { logBytes: 1000 }))).toBe(constants.errno.EINVAL)
    expect(await refusal(keep('great', 'true', { logBytes: 17 * 1024 * 1024 }))).toBe(constants.errno.EINVAL)
    expect(await refusal(keep('x'.repeat(65), 'true'))).toBe(constants.errno.EINVAL)
    expect(await refusal(link.keep({ argv: ['no-such-program'] }, { id: 'none' }, soon()))).toBe(constants.errno.ENOENT)
    await expect(attach('')).rejects.toThrow(RangeError)
    expect((await link.kept(soon())).map((kept) => kept.id)).toEqual(['twice'])
  })

  it('waits with RUN_WAIT until every attachment has read, and goes on when the slow one leaves', async () => {
    const bytes = 4 * 1024 * 1024
    await keep('slow', `read line; head -c ${bytes} /dev/zero; echo end >&2`, { logBytes: 128 * 1024, waits: true })
    const [fast, slow] = [await attach('slow'), await attach('slow')]
    fast.stdin.end('line\n')
    const all = chunksOf(fast)
    await until('the log is full', async () => ((await find('slow'))?.nextOffset ?? 0) > 64 * 1024)
    expect((await find('slow'))?.exit).toBeNull()
    const first = await slow.output.iterator({ destroyOnReturn: false }).next()
    expect((first.value as LogChunk).offset).toBe(0)
    expect((await find('slow'))?.nextOffset).toBeLessThan(bytes)
    slow.detach()
    slow.output.destroy()
    const chunks = await all
    expect(chunks.reduce((sum, { bytes: { length } }) => sum + length, 0)).toBe(bytes + 4)
    expect(
      chunks.every(
        ({ offset }, index) =>
          offset === (index === 0 ? 0 : (chunks[index - 1]?.offset ?? 0) + (chunks[index - 1]?.bytes.length ?? 0)),
      ),
    ).toBe(true)
  })

  it('with RUN_WAIT waits for its first attachment, and loses its oldest output when all have left', async () => {
    await keep('alone', 'head -c 1000000 /dev/zero', { logBytes: 64 * 1024, waits: true })
    await until('the log is full', async () => ((await find('alone'))?.nextOffset ?? 0) >= 32 * 1024)
    expect(await find('alone')).toMatchObject({ exit: null, oldestOffset: 0 })
    const first = await attach('alone')
    first.detach()
    first.output.destroy()
    await ended('alone')
    expect((await find('alone'))?.oldestOffset).toBeGreaterThan(0)
  })
})

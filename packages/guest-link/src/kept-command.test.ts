import { constants } from 'node:os'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GuestAttachment } from './guest-attachment.ts'
import type { GuestCommand } from './guest-command.ts'
import { GuestRequestError, GuestRunError } from './guest-link-error.ts'
import type { LogChunk } from './log-output.ts'
import type { GuestLink } from './link.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { isAlive, until } from './testing/observe.ts'

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

const soon = () => deadlineFor('kept command')
const keep = (
  id: string,
  script: string,
  more: Partial<GuestCommand> & { logBytes?: number; waits?: boolean; label?: string } = {},
) => {
  const { logBytes, waits, label = script, ...command } = more
  return link.keep(
    { argv: ['sh', '-c', script], ...command },
    { id, label, waits, ...(logBytes && { logBytes }) },
    soon(),
  )
}
const attach = (id: string, fromOffset: number | 'end' = 0) => link.attach(id, { fromOffset }, soon())
const find = async (id: string) => (await link.kept(soon())).find((kept) => kept.id === id)
const ended = (id: string) => until(`${id} to end`, async () => (await find(id))?.exit !== null)

async function chunksOf(attachment: GuestAttachment): Promise<LogChunk[]> {
  const chunks: LogChunk[] = []
  const reading = (async () => {
    for await (const chunk of attachment.output) chunks.push(chunk as LogChunk)
  })()
  await soon().race(reading)
  return chunks
}

const textOf = (chunks: readonly LogChunk[]) => chunks.map((chunk) => String(chunk.bytes)).join('')

/** Reads until the text has arrived. The attachment goes on. */
async function reads(attachment: GuestAttachment, wanted: string): Promise<void> {
  let seen = ''
  const reading = (async () => {
    for await (const chunk of attachment.output.iterator({ destroyOnReturn: false })) {
      seen += String((chunk as LogChunk).bytes)
      if (seen.includes(wanted)) return
    }
    throw new Error(`the output ended with ${JSON.stringify(seen)}`)
  })()
  await soon().race(reading)
}

describe('a kept command', () => {
  it('is replayed from any offset, with both outputs in order and its exit', async () => {
    await keep('order', 'echo 1; sleep 0.1; echo 2 >&2; sleep 0.1; echo 3; exit 5')
    await ended('order')
    for (let from = 0; from <= 6; from++) {
      const attachment = await attach('order', from)
      const chunks = await chunksOf(attachment)
      expect(textOf(chunks)).toBe('1\n2\n3\n'.slice(from))
      expect(chunks[0]?.offset ?? from).toBe(from)
      expect(await attachment.exited).toEqual({ exitCode: 5, signal: null })
    }
    const streams = (await chunksOf(await attach('order'))).map((chunk) => [chunk.stream, chunk.offset])
    expect(streams).toEqual([
      ['stdout', 0],
      ['stderr', 2],
      ['stdout', 4],
    ])
  })

  it('outlives a lost host, and the next host follows it from an offset', async () => {
    await keep('on', 'i=0; while read line; do echo "$line $i"; i=$((i+1)); done')
    const first = await attach('on')
    first.stdin.write('a\nb\n')
    await reads(first, 'b 1\n')
    link.close()
    link = await guest.connect()
    const second = await attach('on', 4)
    expect([second.offset, second.liveOffset]).toEqual([4, 8])
    second.stdin.end('c\n')
    expect(textOf(await chunksOf(second))).toBe('b 1\nc 2\n')
    expect(await second.exited).toEqual({ exitCode: 0, signal: null })
  })

  it('never waits for a reader: the log drops its oldest bytes, and the offset shows it', async () => {
    await keep('much', 'seq 300000', { logBytes: 65_536 })
    await ended('much')
    const kept = await find('much')
    expect(kept?.nextOffset).toBe(1_988_895)
    const keptBytes = 1_988_895 - (kept?.oldestOffset ?? 0)
    // The log also holds record headers, which are few when output arrives in large pieces.
    expect(keptBytes).toBeGreaterThan(65_536 * 0.95)
    expect(keptBytes).toBeLessThanOrEqual(65_536)
    const attachment = await attach('much', 17)
    expect(attachment.offset).toBe(kept?.oldestOffset)
    const seen = textOf(await chunksOf(attachment))
    expect(seen.length).toBe(1_988_895 - attachment.offset)
    expect(seen.endsWith('299999\n300000\n')).toBe(true)
  })

  it('does not wait for a reader that stops: its next offset jumps', async () => {
    await keep('fast', 'read go; seq 300000; read stop', { logBytes: 65_536 })
    const slow = await attach('fast')
    // A listener for `readable` alone reads nothing: the window fills up, and the log goes on.
    slow.output.on('readable', () => {})
    slow.stdin.write('go\n')
    await until('all to be written', async () => (await find('fast'))?.nextOffset === 1_988_895)
    slow.output.removeAllListeners('readable')
    slow.stdin.end('stop\n')
    const chunks = await chunksOf(slow)
    let next = 0
    let lost = 0
    for (const chunk of chunks) {
      expect(chunk.offset).toBeGreaterThanOrEqual(next)
      lost += chunk.offset - next
      next = chunk.offset + chunk.bytes.length
    }
    expect(next).toBe(1_988_895)
    expect(lost).toBeGreaterThan(1_000_000)
  })

  it('sends the same bytes to several attachments at once', async () => {
    await keep('many', 'read go; seq 2000; read stop')
    const attachments = await Promise.all(Array.from({ length: 8 }, () => attach('many')))
    attachments[3]?.stdin.write('go\n')
    attachments[5]?.stdin.end('stop\n')
    const texts = await Promise.all(attachments.map(async (one) => textOf(await chunksOf(one))))
    expect(new Set(texts).size).toBe(1)
    expect(texts[0]?.length).toBe(8893)
  })

  it('goes on after detach, and can be followed from the end', async () => {
    await keep('left', 'echo old; read line; echo "new $line"')
    await until('output', async () => (await find('left'))?.nextOffset === 4)
    const gone = await attach('left')
    gone.detach()
    expect(await soon().race(gone.exited)).toBeUndefined()
    const live = await attach('left', 'end')
    expect(live.offset).toBe(4)
    live.stdin.write('x\n')
    expect(textOf(await chunksOf(live))).toBe('new x\n')
  })

  it('on a terminal can be attached again: size, input, screen', async () => {
    await link.keep({ argv: ['sh'], pty: { rows: 24, cols: 80 }, env: { PS1: '$ ' } }, { id: 'tty' }, soon())
    const first = await attach('tty')
    first.stdin.write('stty size\n')
    await reads(first, '24 80\r\n')
    link.close()
    link = await guest.connect()
    const second = await attach('tty')
    await reads(second, '24 80\r\n')
    second.resize({ rows: 33, cols: 99 })
    second.stdin.write('stty size\n')
    await reads(second, '33 99\r\n')
    second.stdin.write('exit 6\n')
    second.output.resume()
    expect(await soon().race(second.exited)).toEqual({ exitCode: 6, signal: null })
  })

  it('is listed with pid, exit, times and offsets', async () => {
    const before = Date.now()
    const { pid } = await keep('id-1', 'echo x; kill -TERM $$', { stdin: 'none' })
    await ended('id-1')
    const [kept, ...rest] = await link.kept(soon())
    expect(rest).toEqual([])
    expect(kept).toMatchObject({
      id: 'id-1',
      label: 'echo x; kill -TERM $$',
      pid,
      isTerminal: false,
      exit: { exitCode: null, signal: constants.signals.SIGTERM },
      oldestOffset: 0,
      nextOffset: 2,
    })
    expect(kept?.startedAt.getTime()).toBeGreaterThanOrEqual(before - 1000)
    expect(kept?.endedAt?.getTime()).toBeGreaterThanOrEqual(kept?.startedAt.getTime() ?? 0)
  })

  it('is signalled by its id, with its process group', async () => {
    const { pid } = await keep('signal', 'sleep 1000 & wait')
    await link.signalKept('signal', 'SIGTERM', soon())
    await ended('signal')
    expect((await find('signal'))?.exit?.signal).toBe(constants.signals.SIGTERM)
    expect(isAlive(pid)).toBe(false)
    // It has ended and is still kept: the signal has no effect.
    await link.signalKept('signal', 'SIGKILL', soon())
  })

  it('is killed and freed by forget, and its attachments fail with ENOENT', async () => {
    const { pid } = await keep('forget', 'yes')
    const attachment = await attach('forget')
    attachment.output.resume()
    await link.forget('forget', soon())
    const failure = await soon().race(attachment.exited.catch((error: unknown) => error))
    expect((failure as GuestRequestError).errno).toBe(constants.errno.ENOENT)
    await until('it to end', () => !isAlive(pid))
    expect(await link.kept(soon())).toEqual([])
    for (const action of [attach('forget'), link.forget('forget', soon()), link.signalKept('forget', 9, soon())]) {
      await expect(action).rejects.toThrow('no such kept command')
    }
  })

  it('fails other writers with EPIPE after one has ended stdin', async () => {
    await keep('closed', 'read line; sleep 1000')
    const [one, other] = [await attach('closed'), await attach('closed')]
    one.stdin.end('x\n')
    const failed = new Promise<NodeJS.ErrnoException>((resolve) => other.stdin.on('error', resolve))
    await until('the input to be closed', () => {
      other.stdin.write('y\n')
      return other.stdin.destroyed
    })
    expect((await soon().race(failed)).code).toBe('EPIPE')
  })
})

const refusal = async (action: Promise<unknown>) => {
  const error = await action.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(GuestRunError)
  return (error as GuestRunError).errno
}

describe('limits of kept commands', () => {
  it('1024 running commands; one more after one has ended, which makes room', async () => {
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
    await keep('slow', `head -c ${bytes} /dev/zero; echo end >&2`, { logBytes: 128 * 1024, waits: true })
    const [fast, slow] = [await attach('slow'), await attach('slow')]
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

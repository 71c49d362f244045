import { constants } from 'node:os'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GuestAttachment } from './guest-attachment.ts'
import { GuestRequestError } from './guest-link-error.ts'
import type { LogChunk } from './log-output.ts'
import type { GuestLink } from './link.ts'
import { HostGuest } from './testing/host-guest.ts'
import { chunksOf, keptCommands, soon } from './testing/kept-commands.ts'
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

const { keep, attach, find, ended } = keptCommands(() => link)

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

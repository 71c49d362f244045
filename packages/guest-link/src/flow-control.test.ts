import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GuestLink } from './link.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { runToEnd } from './testing/run-to-end.ts'

let guest: HostGuest
let link: GuestLink

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
})

afterEach(async () => {
  // In this order, so that the guest ends even when there is no link.
  await guest.stop()
  link.close()
})

describe('flow control', () => {
  it('a reader that stops blocks no other reader', async () => {
    const slow = await link.run({ argv: ['sh', '-c', 'yes to stdout & yes to stderr >&2 & wait'], stdin: 'none' })
    // A listener for `readable` alone reads nothing: both windows fill up.
    await deadlineFor('output').race(Promise.all([once(slow.stdout, 'readable'), once(slow.stderr, 'readable')]))
    for (let i = 0; i < 20; i++) expect((await runToEnd(link, 'seq 20000')).stdout.length).toBe(108_894)
    slow.kill('SIGKILL')
    slow.stdout.destroy()
    slow.stderr.destroy()
    expect((await slow.exited).signal).toBe(constants.signals.SIGKILL)
  })

  it('one output arrives while the other is not read', async () => {
    const child = await link.run({ argv: ['sh', '-c', 'yes >&2 & head -c 3000000 /dev/zero; kill $!'], stdin: 'none' })
    let bytes = 0
    for await (const chunk of child.stdout) bytes += (chunk as Buffer).length
    expect(bytes).toBe(3_000_000)
    child.stderr.resume()
    await child.exited
  })

  it('256 MiB arrive unchanged, in constant memory', { tags: ['long'] }, async () => {
    const child = await link.run({ argv: ['sh', '-c', 'yes 0123456789abcdef | head -c 268435456'], stdin: 'none' })
    child.stderr.resume()
    const wanted = createHash('sha1')
    const line = Buffer.from('0123456789abcdef\n'.repeat(15_420))
    const seen = createHash('sha1')
    const rssBefore = process.memoryUsage().rss
    let bytes = 0
    let rssMost = 0
    for await (const chunk of child.stdout) {
      seen.update(chunk as Buffer)
      bytes += (chunk as Buffer).length
      rssMost = Math.max(rssMost, process.memoryUsage.rss())
    }
    for (let at = 0; at < 268_435_456; at += line.length) wanted.update(line.subarray(0, 268_435_456 - at))
    expect(bytes).toBe(268_435_456)
    expect(seen.digest('hex')).toBe(wanted.digest('hex'))
    expect(rssMost - rssBefore).toBeLessThan(128 * 1024 * 1024)
    expect(await child.exited).toEqual({ exitCode: 0, signal: null })
  })

  it('a writer waits while the command does not read', async () => {
    const go = join(guest.root, 'go')
    const script = `while [ ! -e ${go} ]; do sleep 0.02; done; wc -c`
    const child = await link.run({ argv: ['sh', '-c', script] })
    child.stderr.resume()
    let taken = 0
    const chunk = Buffer.alloc(8192)
    for (let i = 0; i < 100; i++) child.stdin.write(chunk, (error) => (taken += error ? 0 : 1))
    child.stdin.end()
    await link.ping(deadlineFor('ping'))
    await link.ping(deadlineFor('ping'))
    // At most 64 KiB in the pipe and 64 KiB in the window.
    expect(taken).toBeLessThanOrEqual(16)
    await writeFile(go, '')
    expect((await text(child.stdout)).trim()).toBe('819200')
    expect(await child.exited).toEqual({ exitCode: 0, signal: null })
  })
})

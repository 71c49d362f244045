import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAX_LOG_FILE_BYTES } from './log-file.ts'
import type { LogRecord } from './log-record.ts'
import { SandboxLog } from './sandbox-log.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-log-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

function open(): SandboxLog {
  return new SandboxLog({ folder, consolePath: join(folder, 'console.log'), log: pino({ level: 'silent' }) })
}

async function all(log: SandboxLog, first = 1): Promise<LogRecord[]> {
  const records: LogRecord[] = []
  for await (const batch of log.read(first, await log.settle())) records.push(...batch)
  return records
}

describe('SandboxLog', () => {
  it('numbers lines across commands and restarts', async () => {
    const log = open()
    const command = log.command()
    command.write('stdout', Buffer.from('one\ntwo\nhal'))
    command.write('stderr', Buffer.from('wrong\r\n'))
    command.write('stdout', Buffer.from('f'))
    command.end()
    const kept = log.command('abc')
    kept.write('stdout', Buffer.from('kept\n'))
    await log.close()
    const again = open()
    again.command().write('stdout', Buffer.from('after\n'))
    expect((await all(again)).map(({ n, stream, line, source }) => [n, stream, line, source])).toEqual([
      [1, 'stdout', 'one', 'exec'],
      [2, 'stdout', 'two', 'exec'],
      [3, 'stderr', 'wrong', 'exec'],
      [4, 'stdout', 'half', 'exec'],
      [5, 'stdout', 'kept', 'exec:abc'],
      [6, 'stdout', 'after', 'exec'],
    ])
    expect((await all(again, 5)).map(({ line }) => line)).toEqual(['kept', 'after'])
    await again.close()
  })

  it('continues after a torn tail, wherever it is torn', async () => {
    const log = open()
    for (const word of ['eins\n', 'zwölf\n']) log.command().write('stdout', Buffer.from(word))
    await log.close()
    const path = join(folder, 'log.jsonl')
    const whole = await readFile(path)
    for (let cut = 0; cut < whole.length; cut += 7) {
      await writeFile(path, whole.subarray(0, cut))
      const again = open()
      again.command().write('stdout', Buffer.from('next\n'))
      const records = await all(again)
      expect(records.map(({ n }) => n)).toEqual(records.map((_record, index) => index + 1))
      expect(records.at(-1)?.line).toBe('next')
      await again.close()
    }
  })

  it('logs the console exactly once, also across a restart and a truncation of its file', async () => {
    const path = join(folder, 'console.log')
    const log = open()
    await writeFile(path, 'booting\r\nlogin: ')
    await log.settle()
    await appendFile(path, 'root\r\n')
    await log.settle()
    await log.close()
    const again = open()
    expect((await all(again)).map(({ line }) => line)).toEqual(['booting', 'login: root'])
    await appendFile(path, `${'x'.repeat(1000)}\n`.repeat(1100))
    await again.sweepConsole(true)
    expect((await stat(path)).size).toBe(0)
    await appendFile(path, 'new\n')
    const lines = (await all(again)).map(({ line, source }) => [line, source])
    expect(lines.slice(0, 2)).toEqual([
      ['booting', 'console'],
      ['login: root', 'console'],
    ])
    expect(lines.at(-1)).toEqual(['new', 'console'])
    await again.close()
  })

  it('follows from any line without gap or repeat, across rotations, and ends when the log is closed', async () => {
    const log = open()
    const text = `${'y'.repeat(2000)}\n`
    const write = async (lines: number) => {
      const command = log.command()
      for (let done = 0; done < lines; done += 100) {
        command.write('stdout', Buffer.from(text.repeat(100)))
        await log.flush()
      }
    }
    await write(1000)
    const stop = new AbortController()
    const followers = [0, 1, 500, 999, 1000].map(async (after) => {
      const seen: number[] = []
      for await (const batch of log.follow(after, stop.signal)) seen.push(...batch.map(({ n }) => n))
      return { after, seen }
    })
    await write(6000)
    await log.close()
    for (const { after, seen } of await Promise.all(followers)) {
      expect(seen).toEqual(Array.from({ length: 7000 - after }, (_unused, index) => after + 1 + index))
    }
    const kept = await all(log)
    expect(kept.at(-1)?.n).toBe(7000)
    expect((await stat(join(folder, 'log.1.jsonl'))).size).toBeLessThan(MAX_LOG_FILE_BYTES + 1024 * 1024)
    for (const n of [2, 3000, 5555, 6999]) expect((await all(log, n))[0]?.n).toBe(n)
  })

  it('drops the oldest output of a command that is too fast, and logs how much', async () => {
    const log = open()
    const command = log.command()
    const lines = 200_000
    for (let line = 1; line <= lines; line += 1000) {
      const numbers = Array.from({ length: 1000 }, (_unused, index) => `${line + index} ${'z'.repeat(90)}`)
      command.write('stdout', Buffer.from(`${numbers.join('\n')}\n`))
    }
    const records = await all(log)
    expect(records[0]).toMatchObject({
      source: 'offshoot',
      line: expect.stringMatching(/^\d+ bytes of output left out$/),
    })
    expect(records.at(-1)?.line).toMatch(/^200000 z+$/)
    await log.close()
  })

  it('ends an idle follower when its signal aborts', async () => {
    const log = open()
    const stop = new AbortController()
    const ended = (async () => {
      for await (const batch of log.follow(0, stop.signal)) expect(batch).toEqual([])
    })()
    stop.abort()
    await ended
    await log.close()
  })
})

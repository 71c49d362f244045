import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GuestRunError } from './guest-link-error.ts'
import type { GuestLink } from './link.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { firstLine, isAlive, until } from './testing/observe.ts'
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

describe('commands', () => {
  it('return both outputs separately, and the exit code or the signal', async () => {
    const seen = await runToEnd(link, 'echo out; echo err >&2; exit 3')
    expect([String(seen.stdout), String(seen.stderr), seen.exitCode, seen.signal]).toEqual(['out\n', 'err\n', 3, null])
    const killed = await runToEnd(link, 'kill -TERM $$')
    expect([killed.exitCode, killed.signal]).toEqual([null, constants.signals.SIGTERM])
  })

  // Without a shell, which blocks signals and holds pipes of its own while it forks.
  it.each([
    ['have a session and a process group', ['cut', '-d ', '-f', '5,6', '/proc/self/stat'], 'PID PID\n'],
    ['inherit three descriptors only', ['ls', '/proc/self/fd'], '0\n1\n2\n3\n'],
    ['have no signal blocked', ['grep', 'SigBlk', '/proc/self/status'], 'SigBlk:\t0000000000000000\n'],
    ['have no signal ignored', ['grep', 'SigIgn', '/proc/self/status'], 'SigIgn:\t0000000000000000\n'],
  ])('%s', async (_what, argv, wanted) => {
    const child = await link.run({ argv, stdin: 'none' })
    child.stderr.resume()
    // The fourth descriptor is the one of `ls` for the folder.
    expect(await text(child.stdout)).toBe(wanted.replaceAll('PID', String(child.pid)))
  })

  it('run as the requested user, by name or number, in its home', async () => {
    const seen = await runToEnd(link, 'id -un; id -G; echo $USER $LOGNAME; pwd', { user: 'nobody' })
    expect(seen.stdout.toString()).toBe('nobody\n65534\nnobody nobody\n/\n')
    expect((await runToEnd(link, 'id -u; id -g', { user: '65534' })).stdout.toString()).toBe('65534\n65534\n')
    expect((await runToEnd(link, 'pwd', { cwd: '/usr/bin' })).stdout.toString()).toBe('/usr/bin\n')
  })

  it.each([
    ['ENOENT', { argv: ['no-such-program'] }],
    ['ENOENT', { argv: ['/no/such/program'] }],
    ['ENOENT', { argv: ['true'], cwd: '/no/such/folder' }],
    ['ENOENT', { argv: ['true'], user: 'nosuchuser' }],
    ['ENOTDIR', { argv: ['true'], cwd: '/etc/passwd' }],
    ['EACCES', { argv: ['/etc/passwd'] }],
    ['EACCES', { argv: ['true'], cwd: '/root/', user: 'nobody' }],
    ['E2BIG', { argv: ['true', 'x'.repeat(200_000)] }],
    ['E2BIG', { argv: ['true', 'x'.repeat(300_000)] }],
    ['EINVAL', { argv: ['a\0b'] }],
  ] as const)('that cannot start fail with %s', async (code, command) => {
    const failure = await link.run(command).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(GuestRunError)
    expect((failure as GuestRunError).errno).toBe(constants.errno[code])
    await link.ping(deadlineFor('ping'))
  })

  it('take an argument of the maximum size of Linux', async () => {
    const script = `: ${'x'.repeat(131_000)}; echo whole`
    expect((await runToEnd(link, script)).stdout.toString()).toBe('whole\n')
  })

  it('pass any bytes unchanged', async () => {
    const bytes = randomBytes(1_000_003)
    const seen = await runToEnd(link, 'cat', { input: bytes })
    expect(seen.stdout.equals(bytes)).toBe(true)
    const invalid = await runToEnd(link, String.raw`printf '\377\000\376\n'`)
    expect([...invalid.stdout]).toEqual([0xff, 0, 0xfe, 10])
  })

  it('200 run at once, each with its own output', { tags: ['long'] }, async () => {
    const runs = Array.from({ length: 200 }, (_, i) =>
      runToEnd(link, `read line; echo "$line" ${i}; exit ${i}`, { input: `in${i}\n` }),
    )
    const seen = await Promise.all(runs)
    expect(seen.map((run) => [String(run.stdout), run.exitCode])).toEqual(seen.map((_, i) => [`in${i} ${i}\n`, i]))
  })

  it('fail with EAGAIN beyond the maximum of streams, until one has ended', { tags: ['faults'] }, async () => {
    const live = await Promise.all(Array.from({ length: link.hello.streamsMax }, () => link.run({ argv: ['cat'] })))
    const failure = await link.run({ argv: ['true'] }).catch((error: unknown) => error)
    expect((failure as GuestRunError).errno).toBe(constants.errno.EAGAIN)
    for (const child of live) {
      child.stdin.end()
      child.stdout.resume()
      child.stderr.resume()
    }
    await deadlineFor('all to end').race(Promise.all(live.map((child) => child.exited)))
    expect((await runToEnd(link, 'echo again')).stdout.toString()).toBe('again\n')
  })

  it('are killed with their process group', async () => {
    const child = await link.run({ argv: ['sh', '-c', 'sleep 1000 & echo $!; wait'], stdin: 'none' })
    const sleeper = Number(await firstLine(child))
    expect(isAlive(sleeper)).toBe(true)
    child.kill('SIGKILL')
    child.stdout.resume()
    child.stderr.resume()
    expect(await child.exited).toEqual({ exitCode: null, signal: constants.signals.SIGKILL })
    await until('the group to be gone', () => !isAlive(sleeper))
  })

  it('end without waiting for a background child, whose writes still succeed', async () => {
    const marker = join(guest.root, 'marker')
    const script = `(while [ ! -e ${marker}.go ]; do sleep 0.02; done; head -c 300000 /dev/zero && echo alive > ${marker}) & echo started`
    const seen = await runToEnd(link, script)
    expect(seen.stdout.toString()).toBe('started\n')
    await writeFile(`${marker}.go`, '')
    await until(
      'the background child to have written',
      () => existsSync(marker) && readFileSync(marker, 'utf8') === 'alive\n',
    )
  })

  it('that write nothing let the guest sleep after STARTED', async () => {
    const child = await link.run({ argv: ['sleep', '1000'], stdin: 'none' })
    await until('the guest to sleep', () => /^State:\s+S/m.test(readFileSync(`/proc/${guest.pid}/status`, 'utf8')))
    child.kill('SIGKILL')
  })

  it('that have not started at the deadline fail', async () => {
    process.kill(guest.pid, 'SIGSTOP')
    await expect(link.run({ argv: ['true'] }, Deadline.after(20, 'run'))).rejects.toThrow(DeadlineExceeded)
    process.kill(guest.pid, 'SIGCONT')
    await link.ping(deadlineFor('ping'))
  })

  it('that close their stdin fail the writer with EPIPE', async () => {
    const child = await link.run({ argv: ['sh', '-c', 'exec 0<&-; echo closed; sleep 1000'] })
    expect(await firstLine(child)).toBe('closed')
    const failed = new Promise<NodeJS.ErrnoException>((resolve) => child.stdin.on('error', resolve))
    child.stdin.write('nobody reads this')
    expect((await deadlineFor('EPIPE').race(failed)).code).toBe('EPIPE')
    child.kill('SIGTERM')
    child.stdout.resume()
    child.stderr.resume()
    await child.exited
  })
})

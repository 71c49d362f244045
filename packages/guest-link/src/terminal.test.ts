import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GuestProcess } from './guest-process.ts'
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

const size = { rows: 24, cols: 80 }
const onTerminal = (script: string, user = '') => link.run({ argv: ['sh', '-c', script], pty: size, user })

/** Collects the output of the terminal, so that a test can wait for a text. */
function screenOf(child: GuestProcess): { text: string } {
  const screen = { text: '' }
  child.stdout.on('data', (chunk: Buffer) => (screen.text += chunk.toString()))
  return screen
}

const shows = (screen: { text: string }, what: string | RegExp) =>
  until(`the screen to show ${what}`, () => screen.text.match(what) !== null)

describe('a terminal', () => {
  it('is the controlling terminal and all three streams, with UTF-8 and the requested size', async () => {
    const child = await onTerminal(
      'stty size; stty -a | grep -o iutf8; echo err >&2; test -t 0 -a -t 1 -a -t 2 && cat /dev/tty',
    )
    const screen = screenOf(child)
    await shows(screen, 'err\r\n')
    child.stdin.write('typed\n\x04')
    expect(await deadlineFor('exit').race(child.exited)).toEqual({ exitCode: 0, signal: null })
    expect(screen.text).toBe('24 80\r\niutf8\r\nerr\r\ntyped\r\ntyped\r\n')
  })

  it('belongs to its user', async () => {
    const child = await onTerminal('stat -Lc %U $(tty); echo again > $(tty)', 'nobody')
    expect(await text(child.stdout)).toBe('nobody\r\nagain\r\n')
  })

  it('runs a login shell, whose argv[0] is not its program', async () => {
    const child = await link.run({ argv: ['-sh', '-c', 'echo $0'], program: '/bin/sh', pty: size })
    expect(await text(child.stdout)).toBe('-sh\r\n')
  })

  it('sends SIGWINCH after a resize', async () => {
    const child = await onTerminal('trap "stty size; exit 7" WINCH; echo ready; while :; do sleep 0.02; done')
    const screen = screenOf(child)
    await shows(screen, 'ready')
    child.resize({ rows: 50, cols: 132 })
    expect((await deadlineFor('exit').race(child.exited)).exitCode).toBe(7)
    expect(screen.text).toContain('50 132\r\n')
  })

  it('sends SIGINT for Ctrl-C, to the foreground only', async () => {
    const child = await link.run({ argv: ['bash', '--norc', '-i'], pty: size, env: { PS1: 'prompt>' } })
    const screen = screenOf(child)
    await shows(screen, 'prompt>')
    child.stdin.write('sleep 1000\n')
    await until('sleep to run', () => /sleep/.test(childNames(child.pid)))
    child.stdin.write('\x03')
    await until('sleep to end', () => !/sleep/.test(childNames(child.pid)))
    child.stdin.write('echo $?; exit 0\n')
    expect((await deadlineFor('exit').race(child.exited)).exitCode).toBe(0)
    expect(screen.text).toContain('\n130\r\n')
  })

  it('delivers all output before EXIT, also when a child keeps the terminal open', async () => {
    const child = await onTerminal('trap "" HUP; sleep 1000 & seq 20000')
    const seen = await deadlineFor('output').race(text(child.stdout))
    expect(seen.length).toBe(128_894)
    expect(seen.endsWith('20000\r\n')).toBe(true)
    await child.exited
  })

  it('makes a writer wait while there is no reader, and loses nothing', async () => {
    const child = await onTerminal('seq 200000')
    await link.ping(deadlineFor('ping'))
    expect((await text(child.stdout)).length).toBe(1_488_895)
  })

  it('hangs up on the foreground when the host is lost', async () => {
    const child = await link.run({ argv: ['bash', '--norc', '-i'], pty: size })
    const screen = screenOf(child)
    child.stdin.write('sleep 1000\n')
    await until('sleep to run', () => /sleep/.test(childNames(child.pid)) && screen.text.includes('sleep'))
    const sleeper = Number(childPids(child.pid)[0])
    link.close()
    link = await guest.connect()
    await until('the shell and its job to end', () => !isAlive(child.pid) && !isAlive(sleeper))
  })

  it('is killed with its foreground', async () => {
    const child = await link.run({ argv: ['bash', '--norc', '-i'], pty: size })
    child.stdout.resume()
    child.stdin.write('sleep 1000\n')
    await until('sleep to run', () => /sleep/.test(childNames(child.pid)))
    const sleeper = Number(childPids(child.pid)[0])
    child.kill('SIGKILL')
    expect((await deadlineFor('exit').race(child.exited)).signal).toBe(9)
    await until('the job to end', () => !isAlive(sleeper))
  })

  it('50 terminals at once have their own echo each', async () => {
    const children = await Promise.all(Array.from({ length: 50 }, () => onTerminal('read line; echo "<$line>"')))
    const screens = children.map(screenOf)
    for (const [i, child] of children.entries()) child.stdin.write(`typed ${i}\n`)
    await deadlineFor('all to end').race(Promise.all(children.map((child) => child.exited)))
    expect(screens.map((screen) => screen.text)).toEqual(children.map((_, i) => `typed ${i}\r\n<typed ${i}>\r\n`))
  })
})

function childPids(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  } catch {
    return []
  }
}

function childNames(pid: number): string {
  return childPids(pid)
    .map((child) => {
      try {
        return readFileSync(`/proc/${child}/comm`, 'utf8')
      } catch {
        return ''
      }
    })
    .join()
}

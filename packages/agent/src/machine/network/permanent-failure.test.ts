import { writeFile } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { describe, expect, it } from 'vitest'
import { feedProgram } from '../host/feed-program.ts'
import { runProgram } from '../host/run-program.ts'
import { isPermanent, NotOnThisHost } from './permanent-failure.ts'

const soon = () => Deadline.after(30_000, 'a program of the test')
/** A shell that writes to stderr and fails, like `ip` and `nft`. */
const saying = (words: string) => ['-c', `cat >/dev/null; echo '${words}' >&2; exit 2`]
const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

describe('isPermanent', () => {
  it.each([
    ['Open "/dev/net/tun": Permission denied', true],
    ['RTNETLINK answers: Operation not permitted', true],
    ['netlink: Error: cache initialization failed: Operation not permitted', true],
    ['Error: Could not process rule: Operation not supported', true],
    ['ioctl(TUNSETIFF): Device or resource busy', false],
    ['RTNETLINK answers: File exists', false],
    ['Cannot find device "ofs3"', false],
    ['Error: Could not process rule: No such file or directory', false],
  ])(
    'is true if a permission or kernel feature is missing, false for a transient state: %s: %s',
    async (words, lasts) => {
      expect(isPermanent(await failure(feedProgram('sh', saying(words), '', soon())))).toBe(lasts)
      expect(isPermanent(await failure(runProgram('sh', ['-c', `echo '${words}' >&2; exit 1`], soon())))).toBe(lasts)
    },
  )

  it('is true for a missing program and a setting that cannot be written', async () => {
    expect(isPermanent(await failure(runProgram('no-such-program', [], soon())))).toBe(true)
    expect(isPermanent(await failure(feedProgram('no-such-program', [], '', soon())))).toBe(true)
    expect(isPermanent(await failure(writeFile('/proc/sys/kernel/ostype', '1')))).toBe(true)
    expect(isPermanent(new NotOnThisHost('the range is in use'))).toBe(true)
  })

  it('is false for an interface that is just being removed', async () => {
    expect(isPermanent(await failure(writeFile('/proc/sys/net/ipv4/conf/none-such/forwarding', '1')))).toBe(false)
    expect(isPermanent('no error at all')).toBe(false)
  })
})

/** Runs the real guest program on this host, with sanitizers and on a Unix socket, for tests of the channel. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Deadline } from '@offshoot/kit/deadline'
import { GuestLink } from '../link.ts'

const guestFolder = fileURLToPath(new URL('../../../../guest/', import.meta.url))
/** With sanitizers, and one that speaks the previous protocol version only. */
const PROGRAMS = { current: 'build/offshoot-guest-asan', 5: 'build/offshoot-guest-5' } as const
/** The programs that this process has found up to date. */
const built = new Map<string, Promise<unknown>>()

/** A deadline that a test reaches only when it has failed, even on a busy machine. */
export const deadlineFor = (what: string) => Deadline.after(30_000, what)

export class HostGuest {
  readonly socketPath: string
  /** The guest writes its identity files below this folder instead of `/`. */
  readonly root: string
  readonly #child: ChildProcess
  readonly #errors: Promise<string>

  private constructor(root: string, child: ChildProcess) {
    this.root = root
    this.socketPath = join(root, 'guest.sock')
    this.#child = child
    this.#errors = child.stderr === null ? Promise.resolve('') : text(child.stderr)
  }

  /** @param version starts a build that speaks this protocol version only */
  static async start(version?: 5): Promise<HostGuest> {
    const target = PROGRAMS[version ?? 'current']
    const isBuilt = built.get(target) ?? compile(target)
    built.set(target, isBuilt)
    await isBuilt
    const root = await mkdtemp(join(tmpdir(), 'offshoot-guest-'))
    const socketPath = join(root, 'guest.sock')
    const program = join(guestFolder, target)
    const child = spawn(program, ['--socket', socketPath, '--root', root], { stdio: ['ignore', 'ignore', 'pipe'] })
    return new HostGuest(root, child)
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('the guest program did not start')
    return this.#child.pid
  }

  connect(): Promise<GuestLink> {
    return GuestLink.connect(this.socketPath, deadlineFor('guest link'))
  }

  /**
   * Ends the guest and everything that it started. @throws when it had ended before, or a sanitizer reported an error
   */
  async stop(): Promise<void> {
    const hadEnded = this.#child.exitCode !== null || this.#child.signalCode !== null
    if (!hadEnded) {
      this.#child.kill('SIGTERM')
      await deadlineFor('end of the guest').race(once(this.#child, 'exit'))
    }
    await rm(this.root, { recursive: true, force: true })
    const errors = await this.#errors
    if (hadEnded || this.#child.exitCode !== 0 || errors !== '') {
      throw new Error(`guest ended with ${this.#child.exitCode ?? this.#child.signalCode}: ${errors}`)
    }
  }
}

/** One test process compiles it; the others wait instead of compiling it, too. */
async function compile(target: string): Promise<void> {
  await promisify(execFile)('flock', [join(guestFolder, 'Makefile'), 'make', '-C', guestFolder, target])
}

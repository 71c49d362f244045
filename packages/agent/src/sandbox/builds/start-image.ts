import { setTimeout as wait } from 'node:timers/promises'
import type { TemplateImage } from '@offshoot/contract/template-image'
import { GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { LogChunk } from '@offshoot/guest-link/log-output'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../../machine/guest/command.ts'
import { GUEST_IP } from '../../machine/vm/machine.ts'
import { setAddress, type PrepareGuest } from '../../machine/bakes/prepare-guest.ts'
import { BuildFailure } from '../../store/builds/build-failure.ts'
import type { BuildLog } from '../../store/builds/build-log.ts'

const START_ID = 'template:start'
const POLL_MS = 100
/** Milliseconds after which a start command without a `ready_cmd` counts as started, if it listens on no port before. */
const SETTLED_MS = 3000
const OUTPUT_BYTES = 256 * 1024
/** Characters of a program's output in a build's error. */
const SHOWN_CHARS = 2000

/** The command that a template starts. */
export interface ImageStart {
  readonly argv: readonly string[]
  /** From the image's configuration instead of `start_cmd`. If it fails, the template is built without it. */
  readonly isImages: boolean
}

/**
 * Brings a booted image into the state from which its sandboxes start: the start command is running or has exited with 0, and
 * the ready command has exited with 0. The guest keeps the start command, so it continues in every sandbox.
 */
export function startImage(start: ImageStart | null, log: BuildLog): PrepareGuest {
  return async (link, image, deadline) => {
    log.say('booted', 'booting', 70)
    await setAddress(link, deadline)
    if (image.cwd !== undefined) await link.files.mkdir(image.cwd, { parents: true, deadline })
    const started = start === null ? null : await StartCommand.begin(link, image, start, log, deadline)
    if (image.ready_cmd !== null) await untilReady(link, image, image.ready_cmd, started, log, deadline)
    else await started?.untilSettled(deadline)
    await started?.release(deadline)
    log.say('ready', 'freezing', 85)
    return GUEST_IP
  }
}

class StartCommand {
  readonly #link: GuestLink
  readonly #start: ImageStart
  readonly #log: BuildLog
  #output = ''
  #leave: () => void = () => undefined
  readonly #startedAtMs = performance.now()

  private constructor(link: GuestLink, start: ImageStart, log: BuildLog) {
    this.#link = link
    this.#start = start
    this.#log = log
  }

  static async begin(
    link: GuestLink,
    { env = {}, user, cwd }: TemplateImage,
    start: ImageStart,
    log: BuildLog,
    deadline: Deadline,
  ): Promise<StartCommand | null> {
    log.say(`$ ${start.argv.join(' ')}`)
    const account = { ...(user !== undefined && { user }), ...(cwd !== undefined && { cwd }) }
    const command = { argv: start.argv, env, stdin: 'none', ...account } as const
    try {
      await link.keep(command, { id: START_ID, label: 'start', logBytes: OUTPUT_BYTES }, deadline)
    } catch (error) {
      if (!(error instanceof GuestRunError)) throw error
      if (!start.isImages) throw new BuildFailure(`start_cmd cannot be run: ${error.message}`, { cause: error })
      log.say(`the image's own command cannot be run, sandboxes start without it: ${error.message}`)
      return null
    }
    const started = new StartCommand(link, start, log)
    await started.#follow(deadline)
    return started
  }

  /** `false` while the command runs. @throws BuildFailure if `start_cmd` exited with an error */
  async hasEnded(deadline: Deadline): Promise<boolean> {
    const exit = (await this.#link.kept(deadline)).find(({ id }) => id === START_ID)?.exit ?? null
    if (exit === null) return false
    const code = exit.exitCode ?? 128 + (exit.signal ?? 0)
    if (code === 0) return true
    if (!this.#start.isImages)
      throw new BuildFailure(`start_cmd exited with ${code}: ${this.#output.slice(-SHOWN_CHARS)}`)
    return true
  }

  /** Waits until the command has exited, listens on a port, or has run for {@link SETTLED_MS}. */
  async untilSettled(deadline: Deadline): Promise<void> {
    for (;;) {
      if (await this.hasEnded(deadline)) return
      if ((await this.#link.ports.listeners(deadline)).length > 0) return
      if (performance.now() - this.#startedAtMs > SETTLED_MS) return
      await wait(POLL_MS)
    }
  }

  /** Detaches from a running command, which continues in the template. Forgets one that has exited. */
  async release(deadline: Deadline): Promise<void> {
    const hasEnded = await this.hasEnded(deadline)
    this.#leave()
    if (!hasEnded) return
    if (this.#start.isImages) this.#log.say("the image's own command has ended, sandboxes start without it")
    await this.#link.forget(START_ID, deadline)
  }

  get output(): string {
    return this.#output
  }

  async #follow(deadline: Deadline): Promise<void> {
    const attachment = await this.#link.attach(START_ID, {}, deadline)
    attachment.exited.catch(() => undefined)
    const decoder = new TextDecoder()
    let rest = ''
    attachment.output.on('data', ({ bytes }: LogChunk) => {
      const text = decoder.decode(bytes, { stream: true })
      this.#output = (this.#output + text).slice(-SHOWN_CHARS)
      const lines = (rest + text).split('\n')
      rest = (lines.pop() ?? '').slice(-SHOWN_CHARS)
      if (lines.length > 0) this.#log.say(lines.join('\n'))
    })
    this.#leave = () => {
      if (rest !== '') this.#log.say(rest)
      attachment.detach()
      attachment.output.destroy()
    }
  }
}

async function untilReady(
  link: GuestLink,
  { env = {}, cwd }: TemplateImage,
  command: string,
  started: StartCommand | null,
  log: BuildLog,
  deadline: Deadline,
): Promise<void> {
  log.say('waiting for ready_cmd', 'booting', 75)
  for (;;) {
    const request = { argv: ['/bin/sh', '-c', command], env, ...(cwd !== undefined && { cwd }) }
    const options = { stdin: undefined, maxBytes: OUTPUT_BYTES, stop: deadline.signal }
    const { exitCode, stdout, stderr } = await runCommand(link, request, options).catch((error: unknown) => {
      throw error instanceof GuestRunError ? new BuildFailure(`ready_cmd cannot be run: ${error.message}`) : error
    })
    if (exitCode === 0) return
    await started?.hasEnded(deadline)
    if (deadline.remainingMs <= POLL_MS) {
      const output = [stdout.bytes.toString(), stderr.bytes.toString(), started?.output ?? '']
        .join('')
        .slice(-SHOWN_CHARS)
      throw new BuildFailure(`ready_cmd still exits with ${exitCode ?? 'nothing'} after the time it had: ${output}`)
    }
    await wait(POLL_MS)
  }
}

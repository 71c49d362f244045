import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Milliseconds for a record to be made and seen by the world, which the hook waits for. */
const HOOK_MS = 10 * 60_000
const MAX_OUTPUT_BYTES = 64 * 1024

/** A program of the operator's that changes TXT records: `HOOK add|remove NAME VALUE`. It ends with 0 when the record can be seen. */
export class DnsHook {
  readonly #program: string
  #last: Promise<unknown> = Promise.resolve()

  /** @param program absolute path */
  constructor(program: string) {
    this.#program = program
  }

  async add(name: string, value: string): Promise<void> {
    await this.#run('add', name, value)
  }

  async remove(name: string, value: string): Promise<void> {
    await this.#run('remove', name, value)
  }

  /** One at a time: what changes a zone seldom bears two of itself, and both names of a certificate are proven at once. */
  #run(...args: readonly string[]): Promise<void> {
    const ran = this.#last.then(() => this.#runNow(args))
    this.#last = ran.catch(() => undefined)
    return ran
  }

  async #runNow(args: readonly string[]): Promise<void> {
    await run(this.#program, args, { timeout: HOOK_MS, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES })
  }
}

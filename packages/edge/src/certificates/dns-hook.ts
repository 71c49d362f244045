import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Milliseconds for the hook, which waits until the record is visible in public DNS. */
const HOOK_MS = 10 * 60_000
const MAX_OUTPUT_BYTES = 64 * 1024

/**
 * Runs the operator's program that changes TXT records: `HOOK add|remove NAME VALUE`. It exits 0 when the record is
 * visible.
 */
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

  /**
   * One run at a time: programs that edit a zone are rarely safe to run concurrently, and a certificate has two names
   * to prove.
   */
  #run(...args: readonly string[]): Promise<void> {
    const ran = this.#last.then(() => this.#runNow(args))
    this.#last = ran.catch(() => undefined)
    return ran
  }

  async #runNow(args: readonly string[]): Promise<void> {
    await run(this.#program, args, { timeout: HOOK_MS, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES })
  }
}

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Milliseconds for a record to be made and seen by the world, which the hook waits for. */
const HOOK_MS = 10 * 60_000
const MAX_OUTPUT_BYTES = 64 * 1024

/** A program of the operator's that changes TXT records: `HOOK add|remove NAME VALUE`. It ends with 0 when the record can be seen. */
export class DnsHook {
  readonly #program: string

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

  async #run(...args: readonly string[]): Promise<void> {
    await run(this.#program, args, { timeout: HOOK_MS, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES })
  }
}

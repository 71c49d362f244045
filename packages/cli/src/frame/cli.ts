import type { Offshoot } from '@offshoot/sdk'
import type { Config } from './config.ts'
import { Failure, EXIT } from './failure.ts'
import { configPath, DEFAULT_BASE_URL, readConfig } from './config.ts'
import { Output, type Streams } from './output.ts'

/** The surroundings of one run of the program. Tests run many in one process. */
export interface Surroundings extends Streams {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

/** What actions work with. */
export class Cli {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly streams: Streams
  readonly out: Output
  /** Aborted when the user interrupts the program. */
  readonly signal: AbortSignal
  readonly configPath: string
  readonly #baseUrl: string | undefined
  #config: Config | null = null
  #api: Offshoot | null = null

  /** @param baseUrl `--base-url` */
  constructor(surroundings: Surroundings, signal: AbortSignal, baseUrl?: string) {
    const { env, cwd, stdin, stdout, stderr } = surroundings
    this.env = env
    this.cwd = cwd
    this.streams = { stdin, stdout, stderr }
    this.out = new Output(this.streams, env)
    this.signal = signal
    this.configPath = configPath(env)
    this.#baseUrl = baseUrl
  }

  get config(): Config {
    this.#config ??= readConfig(this.configPath)
    return this.#config
  }

  /** `--base-url`, else `OFFSHOOT_BASE_URL`, else that of the login, else this machine. Without a final slash. */
  get baseUrl(): string {
    const chosen = this.#baseUrl ?? (this.env['OFFSHOOT_BASE_URL'] || this.config.base_url) ?? DEFAULT_BASE_URL
    if (!/^https?:\/\/[^/?#]/.test(chosen) || !URL.canParse(chosen))
      throw new Failure(`"${chosen}" is no address of a server`, {
        exitCode: EXIT.usage,
        next: 'write it as http://HOST:PORT or https://HOST',
      })
    return chosen.replace(/\/+$/, '')
  }

  /** The API in the name of the user. Throws a `Failure` if there is no credential for it. */
  async api(): Promise<Offshoot> {
    if (this.#api !== null) return this.#api
    const [{ clientOf }, { credentialOf }] = await Promise.all([import('./client.ts'), import('./credential.ts')])
    this.#api = clientOf(this.baseUrl, credentialOf(this))
    return this.#api
  }

  /** Waits until the SDK has deleted what a create made that the user interrupted. */
  async settled(): Promise<void> {
    await this.#api?.settled()
  }

  /** The credential of `api()`, for connections that the SDK does not make. Keep it out of output and addresses. */
  async bearer(): Promise<string> {
    const { credentialOf } = await import('./credential.ts')
    return credentialOf(this)()
  }

  /** The configuration was written: read it again. */
  forget(): void {
    this.#config = null
    this.#api = null
  }
}

import { readFile } from 'node:fs/promises'
import type { Server } from 'node:tls'
import type { AgentConfig } from '@offshoot/contract/process-config'
import { replaceIdentity, type TlsIdentity } from '@offshoot/kit/mutual-tls'
import type { Logger } from 'pino'

/** Milliseconds between two looks at the files, which the supervisor replaces long before the certificate expires. */
const LOOK_MS = 5_000

type Paths = NonNullable<AgentConfig['tls']>

/** The certificate of this host, in files. */
export class HostIdentity {
  readonly #paths: Paths
  #current: TlsIdentity

  private constructor(paths: Paths, current: TlsIdentity) {
    this.#paths = paths
    this.#current = current
  }

  static async open(paths: Paths): Promise<HostIdentity> {
    return new HostIdentity(paths, await read(paths))
  }

  get current(): TlsIdentity {
    return this.#current
  }

  /**
   * Gives new connections the certificate that the files contain, and ends those of authorities that they do not
   * contain any more. Keeps the old ones while they cannot be used.
   */
  keep(server: Server, log: Logger, stopped: AbortSignal): void {
    const timer = setInterval(() => {
      this.#refresh(server, log).catch((error: unknown) =>
        log.error({ err: error }, 'certificate of this host not read'),
      )
    }, LOOK_MS).unref()
    stopped.addEventListener('abort', () => clearInterval(timer), { once: true })
  }

  async #refresh(server: Server, log: Logger): Promise<void> {
    const latest = await read(this.#paths)
    if (latest.cert === this.#current.cert && latest.ca === this.#current.ca) return
    replaceIdentity(server, latest)
    this.#current = latest
    log.info('certificate of this host renewed')
  }
}

/** Key and certificate stand in one file, so that a reader never sees one without the other. */
async function read({ identity, ca }: Paths): Promise<TlsIdentity> {
  const both = await readFile(identity, 'utf8')
  return { cert: both, key: both, ca: await readFile(ca, 'utf8') }
}

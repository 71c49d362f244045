import { Resolver } from 'node:dns/promises'

/** Milliseconds for one server's answer, and how often each is asked. */
const ANSWER_MS = 2_000
const TRIES = 2

/** Looks up TXT records. */
export class DnsTexts {
  readonly #resolver = new Resolver({ timeout: ANSWER_MS, tries: TRIES })

  /** @param servers addresses, with a port where it is not 53; none: as this host is configured */
  constructor(servers: readonly string[]) {
    if (servers.length > 0) this.#resolver.setServers(servers)
  }

  /** Those of a name; none also when nobody can be asked: what cannot be seen proves nothing. */
  async find(name: string): Promise<string[]> {
    try {
      return (await this.#resolver.resolveTxt(name)).map((pieces) => pieces.join(''))
    } catch {
      return []
    }
  }
}

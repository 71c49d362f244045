import { Resolver } from 'node:dns/promises'

/** Milliseconds for one server's answer, and the number of queries to each server. */
const ANSWER_MS = 2_000
const TRIES = 2

/** Looks up TXT records. */
export class DnsTexts {
  readonly #resolver = new Resolver({ timeout: ANSWER_MS, tries: TRIES })

  /** @param servers addresses, with a port if it is not 53. Empty: the host's configuration */
  constructor(servers: readonly string[]) {
    if (servers.length > 0) this.#resolver.setServers(servers)
  }

  /** The TXT records of a name. Empty also if no server answers, because then nothing is verified. */
  async find(name: string): Promise<string[]> {
    try {
      return (await this.#resolver.resolveTxt(name)).map((pieces) => pieces.join(''))
    } catch {
      return []
    }
  }
}

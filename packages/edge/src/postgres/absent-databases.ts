import type { EdgeDatabase } from '@offshoot/contract/edge-database'
import type { SandboxId } from '@offshoot/contract/ids'
import { FairLimit } from '@offshoot/kit/fair-limit'
import { AgentAway } from '../agents/open-upgrade.ts'
import { ConnectionRefused, SQLSTATE, UNREACHABLE } from './error-response.ts'

/** Concurrent questions: per client address, and in total. Beyond them, clients have to try again. */
const MAX_ASKING_OF_CLIENT = 32
const MAX_ASKING = 64

/** Asks control for a database; `null`: there is none. @throws if control is away */
export type AskDatabase = (id: SandboxId) => Promise<EdgeDatabase | null>

/** Says why no host lets the edge in to a database. Hosts cannot: the one that has it may be away. */
export class AbsentDatabases {
  readonly #ask: AskDatabase
  readonly #asking = new FairLimit(MAX_ASKING_OF_CLIENT, MAX_ASKING)
  readonly #questions = new Map<SandboxId, Promise<EdgeDatabase | null>>()

  constructor(ask: AskDatabase) {
    this.#ask = ask
  }

  /**
   * @param message for a database that exists, and does not come back on another host
   * @param cause why its host did not let the edge in. Absent: no host says that it has the database
   */
  async refusal(id: SandboxId, address: string, message: string, cause?: unknown): Promise<ConnectionRefused> {
    const known = await this.#find(id, address).catch(() => 'unknown' as const)
    // The host that is away had the database. An earlier version of control says of each that there is none.
    if (known === null && !(cause instanceof AgentAway))
      return new ConnectionRefused(SQLSTATE.noSuchDatabase, 'database does not exist', undefined, { cause })
    return new ConnectionRefused(SQLSTATE.cannotConnectNow, textOf(known) ?? message, undefined, { cause })
  }

  /** Clients of one database share a question. */
  async #find(id: SandboxId, address: string): Promise<EdgeDatabase | null> {
    const asked = this.#questions.get(id)
    if (asked !== undefined) return asked
    const done = this.#asking.take(address)
    if (done === null) throw new Error('too many questions at the same time')
    const question = this.#ask(id).finally(() => {
      this.#questions.delete(id)
      done()
    })
    this.#questions.set(id, question)
    return question
  }
}

function textOf(known: EdgeDatabase | null | 'unknown'): string | undefined {
  if (known === 'unknown') return UNREACHABLE
  return known?.is_coming_back === true ? 'database is being brought back on another host' : undefined
}

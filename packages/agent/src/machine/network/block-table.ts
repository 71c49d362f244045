import { Semaphore } from '@offshoot/kit/semaphore'
import { applyRules, listTables, readCounters } from './nft.ts'
import { formatRate, formatRules, heldSet, type Rules } from './rules.ts'

const TABLE = 'offshoot_'

/** What the table of one block stands for. */
export type BlockRules = Omit<Rules, 'table' | 'internet' | 'refused' | 'rates'>

/** What differs between the guests of a block. */
export interface TapRules {
  /** TAPs without a way out. */
  readonly inside: ReadonlySet<string>
  /** See `Rules.rates`. */
  readonly rates: ReadonlyMap<string, number>
}

/** Changes of one block's rates that wait at the same time. */
const MAX_WAITING = 1024

export function tableOfBlock(block: number): string {
  return `${TABLE}${block}`
}

/** The packet filter's table of one block of slots. */
export class BlockTable {
  readonly #table: string
  readonly #rules: BlockRules
  /** Rates that the table has sets and rules for. One change of them at a time. */
  #rates: Set<number> = new Set()
  readonly #changes = new Semaphore(1, MAX_WAITING)

  constructor(block: number, rules: BlockRules) {
    this.#table = tableOfBlock(block)
    this.#rules = rules
  }

  /**
   * In place of what an earlier agent has left, without a moment in between.
   * @param counting TAPs whose guests are the same as before: what was counted of them stays
   */
  async write(rules: () => TapRules, counting: ReadonlySet<string>): Promise<void> {
    await this.#changes.run(() => this.#write(rules(), counting))
  }

  /**
   * For a guest that runs or is about to; doing it again is no mistake.
   * @param from, to bytes a second; `null`: as many as every guest may have
   */
  async changeRate(tap: string, from: number | null, to: number | null): Promise<void> {
    await this.#changes.run(async () => {
      const change = (verb: string, rate: number) =>
        `${verb} element inet ${this.#table} ${heldSet(rate)} { "${tap}" }\n`
      const isNew = to !== null && !this.#rates.has(to)
      const changes = [
        isNew ? formatRate(this.#table, to) : '',
        // What is not there cannot be deleted.
        from !== null && this.#rates.has(from) ? change('add', from) + change('delete', from) : '',
        to === null ? '' : change('add', to),
      ]
      await applyRules(changes.join(''))
      if (isNew) this.#rates.add(to)
    })
  }

  async #write({ inside, rates }: TapRules, counting: ReadonlySet<string>): Promise<void> {
    const isCounting = counting.size > 0 && (await listTables()).includes(this.#table)
    const counted = isCounting ? await this.refused() : new Map<string, number>()
    const refused = new Map([...counted].filter(([tap]) => counting.has(tap)))
    const internet = this.#rules.slots.flatMap(({ tap }) => (inside.has(tap) ? [] : [tap]))
    await applyRules(formatRules({ ...this.#rules, table: this.#table, internet, refused, rates }))
    this.#rates = new Set(rates.values())
  }

  async keepInside(tap: string): Promise<void> {
    await applyRules(`delete element inet ${this.#table} internet { "${tap}" }\n`)
  }

  /** Resets TAPs for new guests: egress allowed, counters zero. */
  async renew(taps: readonly string[]): Promise<void> {
    const elements = taps.map((tap) => `"${tap}"`).join(', ')
    const change = (verb: string, set: string) => `${verb} element inet ${this.#table} ${set} { ${elements} }`
    const changes = [change('delete', 'refused'), change('add', 'refused'), change('add', 'internet')]
    await applyRules(`${changes.join('\n')}\n`)
  }

  /** Refused packets of the guest at each TAP: one for each attempted connection. */
  async refused(): Promise<Map<string, number>> {
    return readCounters(this.#table, 'refused')
  }
}

/** Idempotent. */
export async function removeTable(block: number): Promise<void> {
  const table = tableOfBlock(block)
  await applyRules(`add table inet ${table}\ndelete table inet ${table}\n`)
}

import { applyRules, listTables, readCounters } from './nft.ts'
import { formatRules, type Rules } from './rules.ts'

const TABLE = 'offshoot_'

/** What the table of one block stands for. */
export type BlockRules = Omit<Rules, 'table' | 'internet' | 'refused'>

export function tableOfBlock(block: number): string {
  return `${TABLE}${block}`
}

/** The packet filter's table of one block of slots. */
export class BlockTable {
  readonly #table: string
  readonly #rules: BlockRules

  constructor(block: number, rules: BlockRules) {
    this.#table = tableOfBlock(block)
    this.#rules = rules
  }

  /**
   * In place of what an earlier agent has left, without a moment in between.
   * @param inside TAPs without a way out
   * @param counting TAPs whose guests are the same as before: what was counted of them stays
   */
  async write(inside: ReadonlySet<string>, counting: ReadonlySet<string>): Promise<void> {
    const counted = (await listTables()).includes(this.#table) ? await this.refused() : new Map<string, number>()
    const refused = new Map([...counted].filter(([tap]) => counting.has(tap)))
    const internet = this.#rules.slots.flatMap(({ tap }) => (inside.has(tap) ? [] : [tap]))
    await applyRules(formatRules({ ...this.#rules, table: this.#table, internet, refused }))
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

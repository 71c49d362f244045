/**
 * What clients have been told about lists to which values are only appended, as Jepsen's Elle checks them. A value says
 * who appended it, so each list that a client reads shows which appends have taken effect, and in which order.
 *
 * - An acknowledged append is in each list that is read later.
 * - Nothing is in a list that nobody has appended, and nothing twice.
 * - If an append was acknowledged before another one began, it comes first.
 * - A list that is read begins with each one that was read before.
 *
 * An append without an answer may take effect at any later time, or never.
 */

import { appendFileSync } from 'node:fs'

/** Gets each line of a history, too. */
const FILE = process.env['OFFSHOOT_FLEET_HISTORY']

interface Append {
  readonly value: string
  readonly beganAt: number
  /** Absent: there was no answer, or one that leaves it open. */
  acknowledgedAt?: number
}

interface Read {
  readonly values: readonly string[]
  readonly endedAt: number
}

interface List {
  readonly appends: Map<string, Append>
  /** The longest one. */
  lastRead: Read
}

/** Answer of an append: it has taken effect, it never will, or nobody knows. */
export type Outcome = 'acknowledged' | 'refused' | 'unknown'

export class ListHistory {
  readonly #lists = new Map<string, List>()
  readonly #gone = new Set<string>()
  readonly #lines: string[] = []
  readonly flaws: string[] = []
  #time = 0
  #values = 0
  /** `unprotected`: acknowledged, and on a host that was lost before a copy could be made. */
  readonly counts = { acknowledged: 0, refused: 0, unknown: 0, reads: 0, unprotected: 0 }

  /** A value that no list has. */
  newValue(): string {
    this.#values += 1
    return `v${this.#values}`
  }

  /** Appends with `work`, which says what became of it. */
  async append(key: string, value: string, work: () => Promise<Outcome>): Promise<Outcome> {
    const list = this.#list(key)
    const append: Append = { value, beganAt: this.#now() }
    list.appends.set(value, append)
    const outcome = await work()
    this.counts[outcome] += 1
    if (outcome === 'acknowledged') append.acknowledgedAt = this.#now()
    if (outcome === 'refused') list.appends.delete(value)
    this.note(`${key}: append ${value}: ${outcome}`)
    return outcome
  }

  /** Reads with `work`; `null`: no answer. @returns whether there was one */
  async read(key: string, work: () => Promise<readonly string[] | null>): Promise<boolean> {
    const beganAt = this.#now()
    const values = await work()
    if (values === null) return false
    this.counts.reads += 1
    this.note(`${key}: read ${values.length} values, the last ${values.at(-1) ?? 'none'}`)
    if (this.#gone.has(key)) return true
    this.#check(key, { values, endedAt: this.#now() }, beganAt)
    return true
  }

  /** `child` begins as a copy of `parent` that is made from now until `work` is over. */
  async copy(parent: string, work: () => Promise<readonly string[]>): Promise<void> {
    const beganAt = this.#now()
    // The parent may be deleted meanwhile.
    const { appends } = this.#list(parent)
    const children = await work()
    for (const child of children) {
      const list = this.#list(child)
      for (const [value, append] of appends) {
        const isIncluded = append.acknowledgedAt !== undefined && append.acknowledgedAt < beganAt
        const { value: name, beganAt: began, acknowledgedAt } = append
        list.appends.set(value, { value: name, beganAt: began, ...(isIncluded && { acknowledgedAt }) })
      }
      this.note(`${child}: a copy of ${parent}`)
    }
  }

  /**
   * The list was brought back as it was at an earlier time. Nothing but what survives has to be there: others may have been
   * lost, also if somebody has read them.
   * @returns how many acknowledged appends may have been lost
   */
  restored(key: string, survives: (value: string) => boolean): number {
    const list = this.#list(key)
    const lost = [...list.appends.values()].filter(
      ({ value, acknowledgedAt }) => acknowledgedAt !== undefined && !survives(value),
    )
    for (const append of lost) delete append.acknowledgedAt
    const { values, endedAt } = list.lastRead
    const end = values.findIndex((value) => !survives(value))
    list.lastRead = { values: end < 0 ? values : values.slice(0, end), endedAt }
    this.note(`${key}: restored, without a promise for ${lost.length} appends`)
    this.counts.unprotected += lost.length
    return lost.length
  }

  /** The list is gone. Whoever still reads it, began before. */
  forget(key: string): void {
    this.#lists.delete(key)
    this.#gone.add(key)
    this.note(`${key}: gone`)
  }

  /** Adds a line to what a failed round shows. */
  note(line: string): void {
    const timed = `${new Date().toISOString().slice(11, 23)} ${line}`
    this.#lines.push(timed)
    if (FILE !== undefined) appendFileSync(FILE, `${timed}\n`)
  }

  flaw(text: string): void {
    this.flaws.push(text)
    this.note(`FLAW ${text}`)
  }

  /** The last lines. */
  tail(count: number): string {
    return this.#lines.slice(-count).join('\n')
  }

  #check(key: string, read: Read, beganAt: number): void {
    const { appends, lastRead } = this.#list(key)
    const { values } = read
    const at = new Map(values.map((value, index) => [value, index]))
    if (at.size < values.length) this.flaw(`${key}: a value twice: ${values.join()}`)
    for (const value of values) if (!appends.has(value)) this.flaw(`${key}: ${value}, which nobody has appended`)
    const acknowledged = [...appends.values()].filter(({ acknowledgedAt = Infinity }) => acknowledgedAt < beganAt)
    for (const { value } of acknowledged) if (!at.has(value)) this.flaw(`${key}: lost ${value}, which was acknowledged`)
    for (const { value, acknowledgedAt = 0 } of acknowledged) {
      const later = [...appends.values()].filter((other) => other.beganAt > acknowledgedAt)
      const wrong = later.find((other) => (at.get(other.value) ?? Infinity) < (at.get(value) ?? -1))
      if (wrong !== undefined) this.flaw(`${key}: ${wrong.value} before ${value}, which was acknowledged first`)
    }
    if (lastRead.endedAt > beganAt) return
    if (lastRead.values.some((value, index) => values[index] !== value))
      this.flaw(`${key}: read ${lastRead.values.join()} and later ${values.join()}`)
    this.#list(key).lastRead = read
  }

  #list(key: string): List {
    const known = this.#lists.get(key)
    if (known !== undefined) return known
    const list: List = { appends: new Map(), lastRead: { values: [], endedAt: 0 } }
    this.#lists.set(key, list)
    return list
  }

  /** Counts up, so that no two events are at the same time. */
  #now(): number {
    this.#time += 1
    return this.#time
  }
}

import { expect } from 'vitest'
import type { Answer } from '../setup/http.ts'
import { rowsOf } from '../setup/consistency.ts'
import type { Offshoot } from '../setup/offshoot.ts'
import type { SeededRandom } from '../setup/seeded-random.ts'

export type Status = 'running' | 'paused' | 'hibernated'

/** The possible states of one sandbox. After a lost answer, there are several. */
export interface Member {
  readonly id: string
  statuses: readonly Status[]
  /** Possible contents of its file; `''`: no file. */
  contents: readonly string[]
  /** A delete was requested, but its answer was lost. */
  mayBeGone: boolean
}

interface Kept {
  readonly id: string
  readonly contents: string
}

const FILE = '/root/acknowledged'
const MOST_MEMBERS = 4
const MOST_SNAPSHOTS = 3
const MOVES: Record<Status, readonly [undo: string, redo: string] | null> = {
  running: null,
  paused: ['resume', 'pause'],
  hibernated: ['wake', 'hibernate'],
}

/**
 * All acknowledged state, to compare with the service's. Between rounds each member has one known status and one known
 * file. A round adds possibilities; `examine` checks the actual state and removes them again.
 */
export class Population {
  readonly members = new Map<string, Member>()
  readonly snapshots = new Map<string, Kept>()
  /** Contents of a sandbox or snapshot that may exist although the answer with its id was lost. */
  strayContents: string | null = null
  /** Sandboxes whose QEMU the test has killed. */
  readonly shot = new Set<string>()
  readonly #offshoot: Offshoot
  readonly #random: SeededRandom

  constructor(offshoot: Offshoot, random: SeededRandom) {
    this.#offshoot = offshoot
    this.#random = random
  }

  add(id: string, contents: string): void {
    this.members.set(id, { id, statuses: ['running'], contents: [contents], mayBeGone: false })
  }

  /** A random member, brought into the status that the operation needs. */
  async chosen(status: Status): Promise<Member> {
    const member = this.#random.pick([...this.members.values()])
    const [now] = member.statuses
    if (now !== status) {
      const way = [now && MOVES[now]?.[0], MOVES[status]?.[1]].filter((step) => step !== undefined)
      for (const step of way) await this.#expected(200, this.post(member.id, step))
      member.statuses = [status]
    }
    return member
  }

  async post(id: string, action: string, body?: object): Promise<Answer> {
    return this.#offshoot.request('POST', `/v1/sandboxes/${id}/${action}`, body ? { body } : {})
  }

  async write(id: string, contents: string): Promise<Answer> {
    return this.post(id, 'exec', { cmd: `echo ${contents} > ${FILE} && sync` })
  }

  /** Checks that every member and snapshot has an acknowledged state. @returns descriptions of all losses */
  async examine(): Promise<string[]> {
    const losses: string[] = []
    const rows = new Map((await rowsOf(this.#offshoot)).map((row) => [row.id, row]))
    for (const id of rows.keys()) {
      if (this.members.has(id)) continue
      if (this.strayContents === null) losses.push(`sandbox ${id} that nobody asked for`)
      this.add(id, this.strayContents ?? '')
    }
    for (const member of this.members.values()) {
      const status = rows.get(member.id)?.status
      if (status === 'failed' && this.shot.has(member.id)) await this.#remove(member.id)
      else if (status === undefined && member.mayBeGone) this.members.delete(member.id)
      else losses.push(...(await this.#examineMember(member, status)))
    }
    losses.push(...(await this.#examineSnapshots()))
    this.strayContents = null
    return losses
  }

  /** Deletes the oldest members beyond a limit, and moves the others to random states. */
  async thin(): Promise<void> {
    const surplus = [...this.members.keys()].slice(0, -MOST_MEMBERS)
    for (const id of surplus) await this.#remove(id)
    for (const id of [...this.snapshots.keys()].slice(0, -MOST_SNAPSHOTS)) await this.#removeSnapshot(id)
    for (const member of this.members.values()) {
      const status = this.#random.pick(['running', 'paused', 'hibernated', 'running'] as const)
      const move = MOVES[status]?.[1]
      if (move === undefined) continue
      await this.#expected(200, this.post(member.id, move))
      member.statuses = [status]
    }
  }

  async clear(): Promise<void> {
    await Promise.all([...this.members.keys()].map(async (id) => this.#remove(id)))
    await Promise.all([...this.snapshots.keys()].map(async (id) => this.#removeSnapshot(id)))
  }

  async #examineMember(member: Member, status: string | undefined): Promise<string[]> {
    const { id } = member
    const wanted: readonly string[] = this.shot.has(id) ? ['running', 'paused', 'hibernated'] : member.statuses
    if (status === undefined || !wanted.includes(status)) {
      this.members.delete(id)
      return [`sandbox ${id} is ${status ?? 'gone'} instead of ${wanted.join(' or ')}`]
    }
    if (status === 'paused') await this.#expected(200, this.post(id, 'resume'))
    const { status: code, text, body } = await this.post(id, 'exec', { cmd: `[ ! -e ${FILE} ] || cat ${FILE}` })
    const contents = code === 200 ? (body.stdout as string).trim() : `${code} ${text}`
    const possible = member.contents
    Object.assign(member, { statuses: ['running'], contents: [contents], mayBeGone: false })
    return possible.includes(contents)
      ? []
      : [`${status} sandbox ${id} has ${contents} instead of ${possible.join(' or ')}`]
  }

  async #examineSnapshots(): Promise<string[]> {
    const { body } = await this.#expected(200, this.#offshoot.request('GET', '/v1/snapshots?limit=1000'))
    const listed = (body as { id: string }[]).map(({ id }) => id)
    const losses = [...this.snapshots.keys()]
      .filter((id) => !listed.includes(id))
      .map((id) => (this.snapshots.delete(id), `snapshot ${id} is gone`))
    for (const id of listed.filter((id) => !this.snapshots.has(id))) {
      if (this.strayContents === null) losses.push(`snapshot ${id} that nobody asked for`)
      this.snapshots.set(id, { id, contents: this.strayContents ?? '' })
    }
    if (this.snapshots.size === 0) return losses
    const { id, contents } = this.#random.pick([...this.snapshots.values()])
    const restored = await this.#offshoot.create({ template: 'minimal', from_snapshot: id })
    const found = (await this.#offshoot.exec(restored.id, `[ ! -e ${FILE} ] || cat ${FILE}`)).stdout.trim()
    await this.#offshoot.delete(restored.id)
    return found === contents ? losses : [...losses, `snapshot ${id} has ${found} instead of ${contents}`]
  }

  async #remove(id: string): Promise<void> {
    await this.#offshoot.delete(id)
    this.members.delete(id)
  }

  async #removeSnapshot(id: string): Promise<void> {
    await this.#expected(204, this.#offshoot.request('DELETE', `/v1/snapshots/${id}`))
    this.snapshots.delete(id)
  }

  async #expected(status: number, answer: Promise<Answer>): Promise<Answer> {
    const got = await answer
    expect(got).toMatchObject({ status })
    return got
  }
}

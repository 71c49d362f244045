import { until } from '../../setup/until.ts'
import { HIBERNATED_MEANWHILE } from '@offshoot/agent/sandbox/model/guest-access'
import type { Answer } from '../../setup/http.ts'
import type { SeededRandom } from '../../setup/seeded-random.ts'
import type { Fleet } from './fleet.ts'
import type { ListHistory, Outcome } from './list-history.ts'

/** A client that does one thing after another while parts of the fleet fail. */
export interface FleetClient {
  /** One operation. Failures of the fleet are part of the history. */
  step(): Promise<void>
  /** After everything is healed: reads all that was acknowledged. */
  examine(): Promise<void>
  /** Deletes everything. */
  clear(): Promise<void>
}

export interface ClientContext {
  readonly fleet: Fleet
  readonly history: ListHistory
  readonly random: SeededRandom
  /** What a fault of this round may have ended: ids of sandboxes, snapshots and databases, and names of volumes. */
  readonly excused: ReadonlySet<string>
}

const FILE = '/root/list'
const MOST = 5
/** Milliseconds within which everything can be read after a fault. */
export const READABLE_MS = 90_000

/** The answer; `null`: none came. */
export async function answered(answer: Promise<Answer>): Promise<Answer | null> {
  return answer.catch(() => null)
}

/** What an answer says of a change that was asked for. */
function outcomeOf(answer: Answer | null): Outcome {
  if (answer === null || answer.status >= 500) return 'unknown'
  return answer.status < 300 ? 'acknowledged' : 'refused'
}

/** What the answer of a command that appends says. */
export function outcomeOfCommand(answer: Answer | null): Outcome {
  if (answer?.status === 409 && answer.body.detail === HIBERNATED_MEANWHILE) return 'unknown'
  const outcome = outcomeOf(answer)
  return outcome === 'acknowledged' && answer?.body.exit_code !== 0 ? 'unknown' : outcome
}

/** Values in the output of `cat`; `null`: the command did not run. */
export function valuesIn(answer: Answer | null): string[] | null {
  if (answer?.status !== 200 || answer.body.exit_code !== 0) return null
  return (answer.body.stdout as string).split('\n').filter(Boolean)
}

/** Creates, forks, snapshots, hibernates, wakes and deletes sandboxes, each of which has a list on its disk. */
export class SandboxClient implements FleetClient {
  readonly #context: ClientContext
  readonly #sandboxes = new Set<string>()
  readonly #snapshots = new Set<string>()
  /** Those whose delete has no answer. */
  readonly #mayBeGone = new Set<string>()

  constructor(context: ClientContext) {
    this.#context = context
  }

  async step(): Promise<void> {
    const { random } = this.#context
    if (this.#sandboxes.size === 0) return this.#create()
    const id = random.pick([...this.#sandboxes])
    const isFull = this.#sandboxes.size >= MOST
    const steps: (() => Promise<unknown>)[] = [
      () => this.#append(id),
      () => this.#append(id),
      () => this.#append(id),
      () => this.#read(id),
      () => this.#act(id, 'hibernate'),
      () => this.#act(id, 'wake'),
      () => this.#act(id, 'pause'),
      () => this.#act(id, 'resume'),
      () => this.#snapshot(id),
      isFull ? () => this.#delete(id) : () => this.#create(),
      isFull ? () => this.#delete(id) : () => this.#fork(id),
    ]
    await random.pick(steps)()
  }

  async examine(): Promise<void> {
    const { fleet, history, excused } = this.#context
    // A delete without an answer may be done at any later time, unless it is repeated.
    for (const id of this.#mayBeGone) {
      await this.#remove(id)
      this.#forget(id)
    }
    const rows = new Map((await allSandboxes(fleet)).map((row) => [row.id, row.status]))
    for (const id of this.#sandboxes) {
      const status = rows.get(id)
      if (status === 'failed' && excused.has(id)) {
        await this.#remove(id)
        this.#forget(id)
        continue
      }
      if (status === undefined || status === 'failed') {
        history.flaw(`sandbox ${id} is ${status ?? 'gone'}`)
        this.#forget(id)
        continue
      }
      if (status === 'paused') await this.#act(id, 'resume')
      await until(`sandbox ${id}, which was ${status}, to be read`, () => this.#read(id), READABLE_MS, 500).catch(
        (error: Error) => history.flaw(error.message),
      )
    }
    await this.#examineSnapshots()
  }

  async clear(): Promise<void> {
    for (const id of this.#sandboxes) await this.#remove(id)
    for (const id of this.#snapshots) await this.#context.fleet.ask('DELETE', `/v1/snapshots/${id}`)
  }

  async #create(body: object = { template: 'minimal' }): Promise<void> {
    const { fleet, history } = this.#context
    const answer = await answered(fleet.ask('POST', '/v1/sandboxes', { persistent: true, ...body }))
    history.note(
      `create: ${answer?.status ?? 'no answer'} ${answer?.status === 201 ? answer.body.id : (answer?.text ?? '')}`,
    )
    if (answer?.status === 201) this.#sandboxes.add(answer.body.id)
  }

  async #append(id: string): Promise<void> {
    const { fleet, history } = this.#context
    const value = history.newValue()
    await history.append(id, value, async () => {
      const cmd = `echo ${value} >> ${FILE} && sync`
      return outcomeOfCommand(await this.#noted(id, answered(fleet.ask('POST', `/v1/sandboxes/${id}/exec`, { cmd }))))
    })
  }

  /** @returns whether there was an answer */
  async #read(id: string): Promise<boolean> {
    const { fleet, history } = this.#context
    const cmd = `[ ! -e ${FILE} ] || cat ${FILE}`
    return history.read(id, async () =>
      valuesIn(await this.#noted(id, answered(fleet.ask('POST', `/v1/sandboxes/${id}/exec`, { cmd })))),
    )
  }

  async #act(id: string, action: string): Promise<void> {
    const { fleet, history } = this.#context
    const answer = await this.#noted(id, answered(fleet.ask('POST', `/v1/sandboxes/${id}/${action}`)))
    history.note(`${id}: ${action}: ${answer?.status ?? 'no answer'}`)
  }

  async #snapshot(id: string): Promise<void> {
    const { fleet, history, random } = this.#context
    if (this.#snapshots.size >= 2) {
      const snapshot = random.pick([...this.#snapshots])
      const answer = await answered(fleet.ask('DELETE', `/v1/snapshots/${snapshot}`))
      history.note(`snapshot ${snapshot}: delete: ${answer?.status ?? 'no answer'}`)
      if (outcomeOf(answer) !== 'refused') {
        // Deleting again is part of the end of the round.
        if (outcomeOf(answer) === 'acknowledged') this.#snapshots.delete(snapshot)
      }
      return
    }
    await history.copy(id, async () => {
      const answer = await this.#noted(id, answered(fleet.ask('POST', `/v1/sandboxes/${id}/snapshots`)))
      if (answer?.status !== 201) return []
      this.#snapshots.add(answer.body.id)
      return [answer.body.id as string]
    })
  }

  async #fork(id: string): Promise<void> {
    const { fleet, history } = this.#context
    await history.copy(id, async () => {
      const answer = await this.#noted(id, answered(fleet.ask('POST', `/v1/sandboxes/${id}/fork`)))
      if (answer?.status !== 201) return []
      this.#sandboxes.add(answer.body.id)
      return [answer.body.id as string]
    })
  }

  async #delete(id: string): Promise<void> {
    const { fleet, history } = this.#context
    const answer = await answered(fleet.ask('DELETE', `/v1/sandboxes/${id}`))
    history.note(`${id}: delete: ${answer?.status ?? 'no answer'}`)
    const outcome = outcomeOf(answer)
    if (outcome === 'refused' && answer?.status !== 404) return
    this.#sandboxes.delete(id)
    if (outcome === 'unknown') this.#mayBeGone.add(id)
    else history.forget(id)
  }

  /** One snapshot, restored: what it has is what its sandbox had. */
  async #examineSnapshots(): Promise<void> {
    const { fleet, history, random, excused } = this.#context
    if (this.#snapshots.size === 0) return
    const listed = (await fleet.ask('GET', '/v1/snapshots?limit=1000')).body as { id: string }[]
    for (const id of this.#snapshots) {
      const isLost = excused.has(id)
      if (isLost) await fleet.ask('DELETE', `/v1/snapshots/${id}`)
      // Otherwise its delete may have had no answer.
      else if (listed.some((each) => each.id === id)) continue
      this.#snapshots.delete(id)
      history.note(`snapshot ${id}: ${isLost ? 'lost' : 'gone'}`)
    }
    if (this.#snapshots.size === 0) return
    const id = random.pick([...this.#snapshots])
    const made = await fleet.ask('POST', '/v1/sandboxes', { template: 'minimal', from_snapshot: id })
    if (made.status !== 201) return history.flaw(`snapshot ${id} cannot be restored: ${made.status} ${made.text}`)
    const cmd = `[ ! -e ${FILE} ] || cat ${FILE}`
    await history.read(id, async () => valuesIn(await fleet.ask('POST', `/v1/sandboxes/${made.body.id}/exec`, { cmd })))
    await this.#remove(made.body.id)
  }

  async #remove(id: string): Promise<void> {
    const { fleet, history } = this.#context
    const answer = await fleet.ask('DELETE', `/v1/sandboxes/${id}`)
    if (![204, 404].includes(answer.status))
      history.flaw(`sandbox ${id} cannot be deleted: ${answer.status} ${answer.text}`)
  }

  #forget(id: string): void {
    this.#sandboxes.delete(id)
    this.#mayBeGone.delete(id)
    this.#context.history.forget(id)
  }

  /** Notes why an operation did not succeed. */
  async #noted(id: string, asked: Promise<Answer | null>): Promise<Answer | null> {
    const answer = await asked
    if (answer !== null && answer.status >= 300) this.#context.history.note(`${id}: ${answer.status} ${answer.text}`)
    return answer
  }
}

export interface SandboxRow {
  readonly id: string
  readonly status: string
  readonly volumes: readonly unknown[]
  readonly managed_by: string | null
}

export async function allSandboxes(fleet: Fleet): Promise<SandboxRow[]> {
  const { status, body, text } = await fleet.ask('GET', '/v1/sandboxes?limit=1000')
  if (status !== 200) throw new Error(`list answered ${status}: ${text}`)
  return body as SandboxRow[]
}

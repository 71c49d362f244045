import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../setup/until.ts'
import { answered, type ClientContext, type FleetClient } from './sandbox-client.ts'

const PAUSE_MS = 500
/** Milliseconds for a backup to move. */
const MOVED_MS = 120_000
/** How often an operator does something. */
const PROBABILITY = 0.1

/** Drains hosts while parts of the fleet fail, and takes them back. */
export class Operator implements FleetClient {
  readonly #context: ClientContext
  /** From then on hosts stay as they are. */
  isResting = false

  constructor(context: ClientContext) {
    this.#context = context
  }

  async step(): Promise<void> {
    const { fleet, history, random } = this.#context
    await delay(PAUSE_MS)
    if (this.isResting || random.fraction() > PROBABILITY) return
    const host = random.pick(fleet.hosts)
    const action = random.pick(['drain', 'uncordon'])
    const answer = await answered(fleet.askAsOperator('POST', `/v1/admin/hosts/${host.id}/${action}`))
    history.note(`${host.name}: ${action}: ${answer?.status ?? 'no answer'}`)
  }

  /** Drains the host of a database until a backup is on another host, so that the database could come back. */
  async moveBackup(): Promise<void> {
    const { fleet, history } = this.#context
    let drained: string | undefined
    const isElsewhere = async () => {
      const [database] = await fleet.rows.read<{ home: string; backups: string[] }>(
        `select s.agent_id as home, array_agg(n.agent_id) as backups from databases d join sandboxes s on s.id = d.id
           join database_backups b on b.database_id = d.id join snapshots n on n.id = b.id and n.status = 'ready'
         where d.status = 'ready' group by d.id, s.agent_id`,
      )
      if (database === undefined || database.backups.some((host) => host !== database.home)) return true
      if (drained === database.home) return false
      drained = database.home
      for (const { id } of fleet.hosts)
        await fleet.askAsOperator('POST', `/v1/admin/hosts/${id}/${id === drained ? 'drain' : 'uncordon'}`)
      return false
    }
    await until('a backup on another host', isElsewhere, MOVED_MS, 100).catch((error: Error) =>
      history.note(error.message),
    )
    await fleet.healthy()
  }

  async examine(): Promise<void> {
    this.isResting = false
  }

  async clear(): Promise<void> {
    this.isResting = true
  }
}

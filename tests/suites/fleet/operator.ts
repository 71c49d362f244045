import { setTimeout as delay } from 'node:timers/promises'
import { answered, type ClientContext, type FleetClient } from './sandbox-client.ts'

const PAUSE_MS = 500
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

  async examine(): Promise<void> {
    this.isResting = false
  }

  async clear(): Promise<void> {
    this.isResting = true
  }
}

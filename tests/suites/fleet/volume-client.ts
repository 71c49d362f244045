import type { Answer } from '../../setup/http.ts'
import { until } from '../../setup/until.ts'
import {
  type ClientContext,
  type FleetClient,
  allSandboxes,
  answered,
  outcomeOfCommand,
  READABLE_MS,
  valuesIn,
} from './sandbox-client.ts'

const FILE = '/v/list'

/**
 * Appends to a list in a volume, and syncs it, through one sandbox after the other. Each has a process that writes to the
 * volume every second, and tells the log outside.
 */
export class VolumeClient implements FleetClient {
  readonly #context: ClientContext
  readonly #prefix: string
  /** Volumes before this one, whose hosts were lost. */
  #lost = 0
  /** Sandboxes that may have the volume, the newest last. */
  readonly #sandboxes: string[] = []
  #isMade = false
  #appended = 0

  constructor(context: ClientContext, prefix: string) {
    this.#context = context
    this.#prefix = prefix
  }

  get #name(): string {
    return `${this.#prefix}-${this.#lost + 1}`
  }

  async step(): Promise<void> {
    const { fleet, random } = this.#context
    if (!this.#isMade) {
      const answer = await answered(fleet.ask('POST', '/v1/volumes', { name: this.#name, size_mb: 16 }))
      this.#isMade = answer?.status === 201 || answer?.status === 409
      return
    }
    const id = this.#sandboxes.at(-1)
    if (id === undefined) return this.#attach()
    if (random.fraction() < 0.15) return this.#detach(id)
    await (random.fraction() < 0.75 ? this.#append(id) : this.#read(id))
  }

  async examine(): Promise<void> {
    const { fleet, history, excused } = this.#context
    if (excused.has(this.#name)) return this.#giveUp()
    if (!this.#isMade) return
    const { status, text } = await fleet.ask('GET', `/v1/volumes/${this.#name}`)
    if (status !== 200) return history.flaw(`volume ${this.#name} is gone: ${status} ${text}`)
    const rows = await allSandboxes(fleet)
    const failed = this.#sandboxes.filter((id) => rows.find((row) => row.id === id)?.status === 'failed')
    for (const id of failed)
      if (excused.has(id)) await this.#detach(id)
      else history.flaw(`sandbox ${id} has failed`)
    await until(`volume ${this.#name} to be read`, () => this.#readAgain(), READABLE_MS, 500).catch((error: Error) =>
      history.flaw(error.message),
    )
  }

  /** Its host is lost, so there is another volume from now on. */
  async #giveUp(): Promise<void> {
    const { fleet, history } = this.#context
    for (const id of this.#sandboxes.toReversed()) await this.#detach(id)
    const { status, text } = await fleet.ask('DELETE', `/v1/volumes/${this.#name}`)
    if (status !== 204 || this.#sandboxes.length > 0)
      history.flaw(`volume ${this.#name} of a lost host cannot be deleted: ${status} ${text}`)
    history.forget(this.#name)
    this.#lost += 1
    this.#isMade = false
    this.#appended = 0
  }

  /** Through another sandbox, if the present one does not answer. */
  async #readAgain(): Promise<boolean> {
    const id = this.#sandboxes.at(-1)
    if (id === undefined) await this.#attach()
    else if (await this.#read(id)) return this.#hasOneWriterAtATime(id)
    else await this.#detach(id)
    return false
  }

  /** Writers that come again after another one, according to the volume itself. @returns whether it could be asked */
  async #hasOneWriterAtATime(id: string): Promise<boolean> {
    const cmd = `[ ! -e /v/beats ] || cut -d ' ' -f 1 /v/beats | uniq | sort | uniq -d`
    const again = valuesIn(await this.#exec(id, cmd))
    for (const writer of again ?? [])
      this.#context.history.flaw(`${this.#name} was written by ${writer} and others in turn`)
    return again !== null
  }

  async clear(): Promise<void> {
    const { fleet, history } = this.#context
    // Otherwise the log would find no second writer either.
    if (this.#appended > 0 && fleet.writers.lines(this.#name) === 0)
      history.flaw(`no writer of ${this.#name} tells the log`)
    for (const id of this.#sandboxes) await fleet.ask('DELETE', `/v1/sandboxes/${id}`)
    if (this.#isMade) await fleet.ask('DELETE', `/v1/volumes/${this.#name}`)
  }

  async #attach(): Promise<void> {
    const { fleet, history } = this.#context
    const body = { template: 'minimal', volumes: [{ name: this.#name }] }
    const answer = await answered(fleet.ask('POST', '/v1/sandboxes', body))
    history.note(`${this.#name}: attach: ${answer?.status ?? 'no answer'} ${answer?.text ?? ''}`)
    // A sandbox whose create had no answer has it.
    const holder = (answer?.body as { attached_to?: string } | undefined)?.attached_to
    if (answer?.status === 409 && holder !== undefined) this.#sandboxes.push(holder)
    if (answer?.status !== 201) return
    const { id } = answer.body as { id: string }
    this.#sandboxes.push(id)
    await this.#exec(id, this.#mounting)
    await this.#exec(id, this.#beating(id))
  }

  /** Nothing if it is mounted already. */
  get #mounting(): string {
    return 'mkdir -p /v && { grep -q " /v " /proc/mounts || mount /dev/vdb /v; }'
  }

  /** Ends when the volume cannot be written any more. */
  #beating(id: string): string {
    const { writers } = this.#context.fleet
    const write = `n=$((n+1)); echo "${id} $n" >> /v/beats && sync || exit`
    const tell = `tftp -g -l /dev/null -r "${this.#name} ${id} $n" ${writers.address} ${writers.port}`
    return `sh -c 'n=0; while :; do ${write}; ${tell}; sleep 1; done' </dev/null >/dev/null 2>&1 &`
  }

  async #detach(id: string): Promise<void> {
    const { fleet, history } = this.#context
    const answer = await answered(fleet.ask('DELETE', `/v1/sandboxes/${id}`))
    history.note(`${this.#name}: detach ${id}: ${answer?.status ?? 'no answer'} ${answer?.text ?? ''}`)
    if (answer?.status === 204 || answer?.status === 404) this.#sandboxes.splice(this.#sandboxes.indexOf(id), 1)
  }

  async #append(id: string): Promise<void> {
    const { history } = this.#context
    const value = history.newValue()
    const cmd = `${this.#mounting} && echo ${value} >> ${FILE} && sync`
    const outcome = await history.append(this.#name, value, async () => outcomeOfCommand(await this.#exec(id, cmd)))
    if (outcome === 'acknowledged') this.#appended += 1
  }

  async #read(id: string): Promise<boolean> {
    const cmd = `${this.#mounting} && { [ ! -e ${FILE} ] || cat ${FILE}; }`
    return this.#context.history.read(this.#name, async () => valuesIn(await this.#exec(id, cmd)))
  }

  async #exec(id: string, cmd: string): Promise<Answer | null> {
    const { fleet, history } = this.#context
    const answer = await answered(fleet.ask('POST', `/v1/sandboxes/${id}/exec`, { cmd }))
    if (answer === null || answer.status >= 300 || answer.body.exit_code !== 0)
      history.note(`${this.#name}: exec in ${id}: ${answer?.status ?? 'no answer'} ${answer?.text ?? ''}`)
    return answer
  }
}

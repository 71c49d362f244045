import type { HostDetail } from '@offshoot/contract/host'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { call } from '../tests/setup/http.ts'
import { JoinedMachine } from '../tests/setup/joined-machine.ts'
import { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'
import { hold } from './cleanup.ts'

const DRAIN_MS = 300_000
/** Milliseconds until a host that was cut off has removed what other hosts have replaced. */
const EMPTY_MS = 180_000
const SERVED_MS = 180_000
/** Milliseconds between two looks. A look takes CPU time from the hosts. */
export const LOOK_MS = 100
/** `lost_after_seconds`: the least that the setting allows. A part of each sample of a failover. */
export const LOST_AFTER_SECONDS = 5
/** OFFSHOOT_BENCH_FAILOVERS: samples of a failover. */
export const FAILOVERS = Number(process.env['OFFSHOOT_BENCH_FAILOVERS'] ?? 3)

interface TwoHostsOptions {
  readonly templates?: readonly ('minimal' | 'app' | 'postgres-16')[]
  /** Of both machines. */
  readonly env?: Record<string, string>
  readonly settings?: Readonly<Record<string, unknown>>
}

/** Two hosts on this machine: the one of `bin/up`, and one that has joined from a network namespace of its own. */
export class TwoHosts {
  readonly offshoot: Offshoot
  readonly first: string
  readonly second: string
  readonly machine: JoinedMachine

  private constructor(offshoot: Offshoot, machine: JoinedMachine, first: string, second: string) {
    this.machine = machine
    this.offshoot = offshoot
    this.first = first
    this.second = second
  }

  static async use<T>(
    name: string,
    measure: (hosts: TwoHosts) => Promise<T>,
    { templates = ['minimal'], env = {}, settings = {} }: TwoHostsOptions = {},
  ): Promise<T> {
    const releases: (() => Promise<void>)[] = []
    try {
      const offshoot = Offshoot.prepare(name, { templates, env })
      releases.push(hold(() => offshoot.destroy()))
      await mkdir(offshoot.dataDir, { recursive: true, mode: 0o711 })
      await writeFile(join(offshoot.dataDir, 'settings.json'), JSON.stringify(settings))
      await offshoot.up()
      const machine = new JoinedMachine({ ...env, OFFSHOOT_TEMPLATES: templates.join(',') })
      releases.push(hold(() => machine.destroy()))
      return await measure(await TwoHosts.#join(offshoot, machine))
    } finally {
      for (const release of releases.toReversed()) await release()
    }
  }

  static async #join(offshoot: Offshoot, machine: JoinedMachine): Promise<TwoHosts> {
    const [first] = await operate(offshoot, 'GET', '')
    await machine.join(offshoot)
    const second = await until('both hosts to be ready', async () => {
      const hosts = (await operate(offshoot, 'GET', '')) as HostDetail[]
      return hosts.find(({ id, state }) => id !== first.id && state === 'ready')
    })
    return new TwoHosts(offshoot, machine, first.id, second.id)
  }

  /**
   * Cuts the second host off until `isServed` holds. Afterwards it waits until that host has removed what the first one
   * has replaced.
   * @param what names the service, for the error
   * @returns the seconds until then
   */
  async cutOffUntil(what: string, isServed: () => Promise<boolean>): Promise<number> {
    const beganAt = performance.now()
    await this.machine.connect(false)
    await until(what, isServed, SERVED_MS, LOOK_MS)
    const seconds = (performance.now() - beganAt) / 1000
    await this.machine.connect(true)
    await this.#isEmpty(this.second)
    return seconds
  }

  /** Waits until the host answers and has no VM. */
  async #isEmpty(host: string): Promise<void> {
    await until(
      'the host to be empty',
      async () => {
        const { state, sandboxes, instances } = (await operate(this.offshoot, 'GET', `/${host}`)) as HostDetail
        return state !== 'lost' && sandboxes + instances === 0
      },
      EMPTY_MS,
    )
  }

  /** Places everything new on one of the hosts while `work` runs. */
  async onlyOn<T>(host: string, work: () => Promise<T>): Promise<T> {
    const other = host === this.first ? this.second : this.first
    await operate(this.offshoot, 'POST', `/${other}/cordon`)
    await operate(this.offshoot, 'POST', `/${host}/uncordon`)
    const done = await work()
    await operate(this.offshoot, 'POST', `/${other}/uncordon`)
    return done
  }

  /** Gives everything of one host to the other one. @param objects sandboxes and apps. @returns the seconds of the drain */
  async drain(from: string, objects: number): Promise<number> {
    const to = from === this.first ? this.second : this.first
    await operate(this.offshoot, 'POST', `/${to}/uncordon`)
    await operate(this.offshoot, 'POST', `/${from}/drain`)
    const isOver = async () => {
      const { drain } = (await operate(this.offshoot, 'GET', `/${from}`)) as HostDetail
      return drain?.ended_at == null ? null : { ...drain, ended_at: drain.ended_at }
    }
    const ended = await until('the host to be drained', isOver, DRAIN_MS)
    if (ended.moved !== objects) throw new Error(`moved ${ended.moved} of ${objects}: ${JSON.stringify(ended)}`)
    return (Date.parse(ended.ended_at) - Date.parse(ended.begun_at)) / 1000
  }
}

/** @throws Error if the answer is no success */
async function operate({ credentials }: Offshoot, method: string, path: string) {
  const { base_url: url, operator_key: key } = credentials
  const answer = await call(method, `${url}/v1/admin/hosts${path}`, { headers: { authorization: `Bearer ${key}` } })
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
  return answer.body
}

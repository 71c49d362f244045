import { TAKEN_OVER } from '@offshoot/agent/store/ledger/ledger'
import { hostQuarantine } from '@offshoot/contract/agent-quarantine'
import { until } from '../../setup/until.ts'
import type { Fleet } from './fleet.ts'
import type { Host } from './host.ts'
import { type Fault, networkFaults } from './member.ts'

/** Milliseconds until control may say that the lease of a silent host has ended. */
const ENDED_MS = 60_000
/** Milliseconds for databases to come back on other hosts. */
const RETURNED_MS = 300_000

/** In these, a host and its VMs run, and control hears nothing of it. */
export function silentFaults(host: Host): Fault[] {
  return [...networkFaults(host.machine), host.stoppedAgent]
}

/** Waits until control says that the lease of a silent host has ended. */
export async function untilLeaseEnds(fleet: Fleet, host: Host): Promise<void> {
  await until(`the end of the lease of ${host.name}`, () => hasEnded(fleet, host), ENDED_MS, 100)
}

/** Waits until other hosts have these databases. @throws with the moves that control has tried */
export async function untilReturned(fleet: Fleet, host: Host, databases: readonly string[]): Promise<void> {
  const haveLeft = async () => {
    await fleet.uncordon()
    const text = 'select id from sandboxes where id = any($1::uuid[]) and agent_id = $2'
    return (await fleet.rows.read(text, databases, host.id)).length === 0
  }
  await until('its databases on other hosts', haveLeft, RETURNED_MS, 1_000).catch(async (error: Error) => {
    const tried = 'select state, reason, to_agent, created_at from sandbox_moves where from_agent = $1'
    throw new Error(`${error.message}: ${JSON.stringify(await fleet.rows.read(tried, host.id))}`)
  })
}

async function hasEnded(fleet: Fleet, { id }: Host): Promise<boolean> {
  const text = 'select agent_id from host_leases where agent_id = $1 and ended_at is not null'
  return (await fleet.rows.read(text, id)).length > 0
}

/** An operator purges what a host has kept of databases that other hosts have brought back. Anything else stays. */
export async function purgeTaken(fleet: Fleet, { id }: Host): Promise<void> {
  const path = `/v1/hosts/${id}/quarantine`
  const { body } = await fleet.askAsOperator('GET', `${path}?limit=1000`)
  for (const { entry, reason } of hostQuarantine.parse(body))
    if (reason === TAKEN_OVER) await fleet.askAsOperator('DELETE', `${path}/${entry}`)
}

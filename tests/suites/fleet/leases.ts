import { until } from '../../setup/until.ts'
import type { Fleet } from './fleet.ts'
import type { Host } from './host.ts'
import { returningDatabases } from './loss.ts'
import { type Fault, networkFaults } from './member.ts'

/** Milliseconds until control may say that the lease of a silent host has ended. */
const ENDED_MS = 60_000
/** Milliseconds for databases to come back on other hosts. */
const RETURNED_MS = 300_000

/** In these, a host and its VMs run, and control hears nothing of it. */
export function silentFaults(host: Host): Fault[] {
  return [...networkFaults(host.machine), host.stoppedAgent]
}

/**
 * The fault, for longer than the lease of the host. Databases that can come back on other hosts do so, while the host
 * still has them.
 * @param untilReturned it lasts until they have come back. Otherwise the host returns while they do
 */
export function beyondLease(fleet: Fleet, host: Host, fault: Fault, untilReturned: boolean): Fault {
  return {
    name: `${fault.name} longer than its lease`,
    begin: async () => {
      const databases = await returningDatabases(fleet, host.id)
      await fault.begin()
      await until(`the end of the lease of ${host.name}`, () => hasEnded(fleet, host), ENDED_MS, 100)
      if (!untilReturned) return
      await until('its databases on other hosts', () => haveLeft(fleet, host, databases), RETURNED_MS, 250)
    },
    heal: () => fault.heal(),
  }
}

/** What is wrong: hosts without a lease that they have confirmed. */
export async function withoutLease(fleet: Fleet): Promise<string> {
  const held = 'select agent_id as id from host_leases where is_confirmed and ended_at is null'
  const rows = await fleet.rows.read<{ id: string }>(held)
  const without = fleet.hosts.filter((host) => !rows.some(({ id }) => id === host.id))
  return without.map(({ name }) => `${name} has no lease`).join()
}

async function hasEnded(fleet: Fleet, { id }: Host): Promise<boolean> {
  const text = 'select agent_id from host_leases where agent_id = $1 and ended_at is not null'
  return (await fleet.rows.read(text, id)).length > 0
}

async function haveLeft(fleet: Fleet, { id }: Host, databases: readonly string[]): Promise<boolean> {
  const text = 'select id from sandboxes where id = any($1::uuid[]) and agent_id = $2'
  return (await fleet.rows.read(text, databases, id)).length === 0
}

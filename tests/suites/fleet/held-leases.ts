import type { ControlRows } from './control-rows.ts'
import type { Host } from './host.ts'

/** What is wrong: hosts without a lease that they have confirmed. */
export async function withoutLease(rows: ControlRows, hosts: readonly Host[]): Promise<string> {
  const text = 'select agent_id as id from host_leases where is_confirmed and ended_at is null'
  const held = await rows.read<{ id: string }>(text)
  const without = hosts.filter((host) => !held.some(({ id }) => id === host.id))
  return without.map(({ name }) => `${name} has no lease`).join()
}

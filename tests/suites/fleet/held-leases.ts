import type { ControlRows } from './control-rows.ts'
import type { Host } from './host.ts'

/** Names the hosts that have not confirmed a lease; `''`: all have. */
export async function withoutLease(rows: ControlRows, hosts: readonly Host[]): Promise<string> {
  const text = 'select agent_id as id from host_leases where is_confirmed and ended_at is null'
  const held = await rows.read<{ id: string }>(text)
  const without = hosts.filter((host) => !held.some(({ id }) => id === host.id))
  return without.map(({ name }) => `${name} has no lease`).join()
}

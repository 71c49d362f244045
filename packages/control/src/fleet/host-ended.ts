import { LEASE_HAS_ENDED } from './lease-statements.ts'

/**
 * SQL: the host of the agent `a` runs no durable VM any more, so its databases may come back elsewhere. An operator says
 * so with the removal of the host: its machine is off. Or its lease has ended. This is the only place that decides it.
 * What needs no such proof, such as an app, must not ask for it.
 */
export const HAS_ENDED = `((a.retired_at is not null and a.removed_reason is not null)
     or exists (select from host_leases l where l.agent_id = a.id and ${LEASE_HAS_ENDED}))`

/**
 * SQL: the host of the agent `a` runs no durable VM any more, so its databases may come back elsewhere. An operator says
 * so with the removal of the host: its machine is off. This is the only place that decides it.
 */
export const HAS_ENDED = 'a.retired_at is not null and a.removed_reason is not null'

/**
 * Statuses that have the same meaning for callers as for control. Any other status of an agent is internal, for the log
 * only.
 */
export const PASSED_ON_STATUSES: ReadonlySet<number> = new Set([
  200, 201, 202, 204, 206, 304, 400, 402, 404, 405, 409, 412, 413, 415, 416, 426, 429, 503, 504, 507,
])

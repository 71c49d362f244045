/** Statuses that mean the same from an agent as from us; any other is between us and it, and for the log. */
export const PASSED_ON_STATUSES: ReadonlySet<number> = new Set([
  200, 201, 202, 204, 206, 304, 400, 402, 404, 405, 409, 412, 413, 415, 416, 426, 429, 503, 504, 507,
])

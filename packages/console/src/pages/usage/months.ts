/** Months that the page offers. */
const OFFERED = 12

/** `2026-11` and the eleven before it, newest first. */
export function recentMonths(now: Date): readonly string[] {
  return Array.from({ length: OFFERED }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  )
}

/** The first day of a month and that of the next one, as `GET /v1/usage` takes them. */
export function boundsOf(month: string): { readonly from: string; readonly to: string } {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return { from: `${month}-01`, to: new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10) }
}

/** Every day from `from` until before `to`, so that days without usage are shown too. */
export function daysBetween(from: string, to: string): readonly string[] {
  const days: string[] = []
  for (let day = new Date(from); day < new Date(to); day.setUTCDate(day.getUTCDate() + 1))
    days.push(day.toISOString().slice(0, 10))
  return days
}

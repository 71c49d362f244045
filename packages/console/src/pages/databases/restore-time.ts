/** The times that can be restored, in milliseconds since 1970. */
export interface RestoreSpan {
  readonly from: number
  readonly to: number
}

/** Seconds that a slider's step may take at most and at least. */
const STEPS = 2000

/** Milliseconds of one step of the slider: a second, or more for a long span. */
export function stepOf({ from, to }: RestoreSpan): number {
  return Math.max(1000, Math.ceil((to - from) / STEPS / 1000) * 1000)
}

/** The value of an input of the type `datetime-local`, in the time zone of the browser. */
export function localTime(ms: number): string {
  const zone = new Date(ms).getTimezoneOffset() * 60_000
  return new Date(ms - zone).toISOString().slice(0, 19)
}

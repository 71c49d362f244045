import type { LogLine } from '@offshoot/contract/log'

/** Whether a line of a sandbox's log is output of a background command, which is the app itself. */
export function isOfApp({ source }: LogLine): boolean {
  return source.startsWith('exec:')
}

/** Sorts lines of several sandboxes, the earliest first. */
export function byTime(a: LogLine, b: LogLine): number {
  return a.ts < b.ts ? -1 : Number(a.ts > b.ts)
}

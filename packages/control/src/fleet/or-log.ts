import type { Logger } from 'pino'

/** Waits for one of several removals: when it fails the others still go on, and the next look tries again. */
export async function orLog(log: Logger, about: Readonly<Record<string, string>>, removal: Promise<unknown>) {
  await removal.catch((error: unknown) => log.warn({ err: error, ...about }, 'removal put off'))
}

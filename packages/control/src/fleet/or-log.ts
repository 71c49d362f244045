import type { Logger } from 'pino'

/**
 * Awaits one of several removals and only logs its failure, so that the others continue. The next round tries again.
 */
export async function orLog(log: Logger, about: Readonly<Record<string, string>>, removal: Promise<unknown>) {
  await removal.catch((error: unknown) => log.warn({ err: error, ...about }, 'removal failed: trying again later'))
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { GuestNetwork } from './guest-network.ts'

/** Milliseconds before the kernel is listened to again, when that ended. */
const RETRY_MS = 5_000
/** Says each table that goes, and ends with the agent, however that ends. */
const MONITOR = ['setpriv', '--pdeathsig', 'KILL', 'nft', 'monitor', 'destroy', 'tables'] as const

/**
 * Whoever reloads a host's firewall (`nft flush ruleset`) removes the tables of guests too, and with them all that keeps guests
 * from the host. They are there again as soon as the kernel says so.
 * @returns when `stopped` aborts
 */
export async function watchTables(network: GuestNetwork, log: Logger, stopped: AbortSignal): Promise<void> {
  const restore = async () => {
    try {
      const count = await network.restoreTables()
      if (count > 0) log.warn({ tables: count }, 'rules of guests were removed by somebody else, and are there again')
    } catch (error) {
      log.error({ err: error }, 'rules of guests are not there')
    }
  }
  while (!stopped.aborted) {
    await listen(restore, stopped).catch((error: unknown) => log.error({ err: error }, 'packet filter not watched'))
    await wait(RETRY_MS, undefined, { signal: stopped }).catch(() => undefined)
  }
}

async function listen(restore: () => Promise<void>, stopped: AbortSignal): Promise<void> {
  const [program, ...args] = MONITOR
  const monitor = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  const end = () => monitor.kill('SIGKILL')
  stopped.addEventListener('abort', end, { once: true })
  try {
    await once(monitor, 'spawn')
    // What went before anybody listened.
    await restore()
    for await (const _lines of monitor.stdout) await restore()
  } finally {
    stopped.removeEventListener('abort', end)
    end()
  }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { GuestNetwork } from './guest-network.ts'

/** Milliseconds before a retry, when `nft monitor` ended. */
const RETRY_MS = 5_000
/** Prints each table that is removed. `--pdeathsig` ends it with the agent, even after a kill -9. */
const MONITOR = ['setpriv', '--pdeathsig', 'KILL', 'nft', 'monitor', 'destroy', 'tables'] as const

/**
 * Restores the tables of guests when another program removes them. Reloading the host's firewall (`nft flush ruleset`) removes
 * them too, and with them all rules that keep guests away from the host. The kernel reports the removal, and the agent
 * restores the tables immediately.
 * @returns when `stopped` aborts
 */
export async function watchTables(network: GuestNetwork, log: Logger, stopped: AbortSignal): Promise<void> {
  const restore = async () => {
    try {
      const count = await network.restoreTables()
      if (count > 0)
        log.warn(
          { tables: count },
          'another program removed the packet filter rules of guests, and the agent restored them',
        )
    } catch (error) {
      log.error({ err: error }, 'packet filter rules of guests cannot be restored')
    }
  }
  while (!stopped.aborted) {
    await listen(network, restore, stopped).catch((error: unknown) =>
      log.error({ err: error }, 'packet filter cannot be watched'),
    )
    await wait(RETRY_MS, undefined, { signal: stopped }).catch(() => undefined)
  }
}

/**
 * Whether a line of `nft monitor` reports the removal of a table that is not ours. Each start of another agent on this host
 * causes such lines. Any other line may stand for lost events.
 */
export function isAnotherTable(line: string, tables: readonly string[]): boolean {
  const [, family, name = ''] = /^delete table (\w+) (\S+)$/.exec(line) ?? []
  return family !== undefined && (family !== 'inet' || !tables.includes(name))
}

async function listen(network: GuestNetwork, restore: () => Promise<void>, stopped: AbortSignal): Promise<void> {
  const [program, ...args] = MONITOR
  const monitor = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  const end = () => monitor.kill('SIGKILL')
  stopped.addEventListener('abort', end, { once: true })
  try {
    await once(monitor, 'spawn')
    // Tables may have been removed before the monitor ran.
    await restore()
    for await (const line of createInterface({ input: monitor.stdout })) {
      if (!isAnotherTable(line, network.tables)) await restore()
    }
  } finally {
    stopped.removeEventListener('abort', end)
    end()
  }
}

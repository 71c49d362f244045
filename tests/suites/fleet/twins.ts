/** Sandboxes that run on two hosts. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { standsStill } from '@offshoot/agent/test/process-state'
import { TICKS_PER_SECOND } from '@offshoot/kit/process-identity'
import type { Fleet } from './fleet.ts'
import { runningOn } from './truth.ts'

const SAMPLE_MS = 1_000

/**
 * Looks every second whether a sandbox runs on two hosts, until `stopped` aborts. If a host does not answer a create,
 * another one is asked, so both may have a VM that nobody knows yet. Only those count that were started later.
 */
export async function watchForTwins(fleet: Fleet, onTwin: (text: string) => void, stopped: AbortSignal): Promise<void> {
  const madeAtTicks = new Map<string, number>()
  while (!stopped.aborted) {
    const made = await madeSandboxes(fleet).catch(() => [])
    const now = await ticksSinceBoot()
    for (const id of made) if (!madeAtTicks.has(id)) madeAtTicks.set(id, now)
    for (const id of await twins(fleet, madeAtTicks)) onTwin(`sandbox ${id} runs on two hosts`)
    await delay(SAMPLE_MS, undefined, { signal: stopped }).catch(() => undefined)
  }
}

async function twins(fleet: Fleet, madeAtTicks: ReadonlyMap<string, number>): Promise<string[]> {
  // A database stands still from the end of its host's lease until it is ended. Its launcher outlives it for a moment.
  const machines = (await runningOn(fleet)).filter(({ process: { pid } }) => isQemu(pid) && !standsStill(pid))
  const byId = Map.groupBy(machines, ({ id }) => id)
  return [...byId].flatMap(([id, those]) => {
    const isLater = those.some(({ process }) => process.startTicks > (madeAtTicks.get(id) ?? Infinity))
    return new Set(those.map(({ host }) => host)).size > 1 && isLater ? [id] : []
  })
}

function isQemu(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'latin1').startsWith('qemu-system')
  } catch {
    return false
  }
}

async function madeSandboxes(fleet: Fleet): Promise<string[]> {
  const rows = await fleet.rows.read<{ id: string }>("select id::text from sandboxes where status <> 'creating'")
  return rows.map(({ id }) => id)
}

async function ticksSinceBoot(): Promise<number> {
  return Number.parseFloat(await readFile('/proc/uptime', 'utf8')) * TICKS_PER_SECOND
}

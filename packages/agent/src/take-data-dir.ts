import { mkdir } from 'node:fs/promises'
import type { AgentConfig } from '@offshoot/contract/process-config'
import { Deadline } from '@offshoot/kit/deadline'
import { loadConfig } from './load-config.ts'
import { DataDirLock } from './machine/host/data-dir-lock.ts'

/** Milliseconds to wait for a process that is still ending. */
const LOCK_MS = 15_000

/**
 * What every program begins with that works while no agent runs: it reads the configuration that the command line names,
 * and locks the data directory until it ends.
 */
export async function takeDataDir(): Promise<AgentConfig> {
  const config = await loadConfig(process.argv.slice(2))
  await mkdir(config.data_dir, { recursive: true, mode: 0o711 })
  await DataDirLock.acquire(config.data_dir, Deadline.after(LOCK_MS, 'lock of the data directory'))
  return config
}

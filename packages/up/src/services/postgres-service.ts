import { readFile, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import type { DataLayout } from '../base/data-layout.ts'
import { POSTGRES_UID } from './postgres-cluster.ts'
import type { Service, Supervisor } from './supervisor.ts'
import { asUnprivileged } from './unprivileged.ts'

const POLL_MS = 10
/** Crash recovery replays all WAL since the last checkpoint. */
const READY_WITHIN_MS = 120_000

/** The service that runs an existing cluster's server on a loopback port. */
export async function postgresService(layout: DataLayout, programs: string, port: number): Promise<Service> {
  const server = [join(programs, 'postgres'), '-D', layout.postgres, '-p', String(port)]
  const prefix = await asUnprivileged(POSTGRES_UID, [programs, layout.postgres])
  const [file = '', ...args] = [...prefix, ...server]
  return { name: 'postgres', file, args, cwd: '/', isReady: (pid) => isReady(layout, pid) }
}

/**
 * Removes a killed server's pid file if its pid now belongs to another process, which PostgreSQL would take for a
 * running server. In all other cases PostgreSQL decides; it also detects sessions that outlived their server. The
 * caller must hold the data directory's lock and have ended orphans.
 */
export async function removeStalePidFile(layout: DataLayout): Promise<void> {
  const pidFile = join(layout.postgres, 'postmaster.pid')
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0])
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => null)
  if (folder !== null && folder !== layout.postgres) await rm(pidFile, { force: true })
}

/** In postmaster.pid, line 1 identifies the server and line 8 says whether it accepts connections. */
async function isReady(layout: DataLayout, pid: number): Promise<boolean> {
  const lines = (await readFile(join(layout.postgres, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return Number(lines[0]) === pid && lines[7]?.startsWith('ready') === true
}

/** Waits until the supervised server accepts connections. */
export async function waitForPostgres(
  layout: DataLayout,
  supervisor: Supervisor,
  cancelled: AbortSignal,
): Promise<void> {
  const deadline = Deadline.after(READY_WITHIN_MS, `PostgreSQL to be ready, see ${layout.logs}/postgres.log`, cancelled)
  for (;;) {
    const pid = supervisor.running('postgres')?.pid
    if (pid !== undefined && (await isReady(layout, pid))) return
    deadline.throwIfOver()
    await delay(POLL_MS)
  }
}

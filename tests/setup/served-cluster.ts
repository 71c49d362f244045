import { findFreePort } from '@offshoot/kit/free-port'
import type { DataLayout } from '@offshoot/up/base/data-layout'
import { DATABASE, ensureCluster } from '@offshoot/up/services/postgres-cluster'
import { postgresPrograms } from '@offshoot/up/services/postgres-install'
import { postgresService, waitForPostgres } from '@offshoot/up/services/postgres-service'
import { Supervisor } from '@offshoot/up/services/supervisor'

const nothing = async () => undefined

/** Serves the PostgreSQL of a data directory as `bin/up` does, and makes it if there is none. */
export async function serveCluster(layout: DataLayout) {
  const supervisor = new Supervisor(layout.logs, { started: nothing, ended: nothing, restarting: () => undefined })
  const never = new AbortController().signal
  const [programs, port] = [await postgresPrograms(), await findFreePort()]
  const password = await ensureCluster(layout, programs, never)
  supervisor.start(await postgresService(layout, programs, port))
  await waitForPostgres(layout, supervisor, never)
  return { address: { host: '127.0.0.1', port, password, ...DATABASE }, stop: () => supervisor.stop(['postgres']) }
}

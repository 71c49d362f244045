import { canAccess } from './base/can-access.ts'
import { currentProduct } from './base/product.ts'
import { Deadline } from '@offshoot/kit/deadline'
import { isAlive } from '@offshoot/kit/process-identity'
import { dataLayout, type DataLayout, doesDataDirExist } from './base/data-layout.ts'
import type { UpArguments } from './base/arguments.ts'
import { takeLock } from '@offshoot/kit/exclusive-lock'
import { repositoryRoot } from './base/repository.ts'
import { runCommand } from './base/run-command.ts'
import { endProcess } from './base/end-process.ts'
import { endNamespaces, GuestNamespace } from './rootless/guest-namespace.ts'
import { isRootless } from './rootless/requirements.ts'
import { endOrphans } from './services/orphans.ts'
import { readRunningRecord } from './services/running-record.ts'
import { SetupFailure } from './base/setup-failure.ts'

/** Long enough for a supervisor that stops its services one after the other, each with its own wait. */
const SUPERVISOR_STOPS_WITHIN_MS = 60_000
const LOCK_WAIT_S = 30
const VMS_END_WITHIN_MS = 120_000

/**
 * `bin/up --down`: ends the supervisor, the services and every VM of the data directory. Deletes nothing. Idempotent.
 */
export async function down(args: UpArguments): Promise<void> {
  const layout = dataLayout(args.dataDir, args.imagesDir)
  if (!(await doesDataDirExist(layout))) return
  const supervisor = (await readRunningRecord(layout.runningRecord))?.supervisor
  if (supervisor && (await isAlive(supervisor))) await endProcess(supervisor, 'SIGTERM', SUPERVISOR_STOPS_WITHIN_MS)

  const lock = await takeLock(layout.lock, LOCK_WAIT_S)
  if (lock === null) throw new SetupFailure(`Another ${currentProduct().command} is working on ${layout.dir}.`)
  try {
    await endOrphans(layout)
    if (await canAccess(layout.agentConfig)) await endVirtualMachines(layout)
    await endNamespaces(layout)
  } finally {
    lock.release()
  }
}

async function endVirtualMachines(layout: DataLayout): Promise<void> {
  const guests = isRootless() ? await GuestNamespace.open(layout) : null
  const line = [process.execPath, `${repositoryRoot}/packages/agent/src/end-all.ts`, layout.agentConfig]
  const [file = '', ...args] = [...((await guests?.entering()) ?? []), ...line]
  await runCommand(file, args, { deadline: Deadline.after(VMS_END_WITHIN_MS, 'ending all VMs') })
  await guests?.takeFiles()
}

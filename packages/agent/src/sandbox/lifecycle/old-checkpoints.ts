import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** Removes the checkpoint of a sandbox that is no longer hibernated. The reconciliation retries. Never rejects. */
export async function removeHibernation(host: Host, { id }: Pick<Sandbox, 'id'>): Promise<void> {
  await host.store.checkpoints
    .remove(host.store.dir.hibernation(id))
    .catch((error: unknown) => host.log.error({ err: error, sandbox_id: id }, 'old checkpoint not removed'))
}

/**
 * Removes the memory from which a sandbox was woken and what its captures have kept, when no capture can use them as bases any
 * more: the VM has ended, or the sandbox is hibernated again, with links of its own. Never rejects.
 */
export async function removeMemoryBase(host: Host, { id }: Sandbox): Promise<void> {
  const { checkpoints, dir } = host.store
  for (const folder of [dir.memoryBase(id), dir.keptMemory(id)])
    await checkpoints
      .remove(folder)
      .catch((error: unknown) => host.log.error({ err: error, sandbox_id: id }, 'old base not removed'))
}

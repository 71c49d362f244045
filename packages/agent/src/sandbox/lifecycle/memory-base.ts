import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

/**
 * Removes the memory that a sandbox was woken from, once no hibernation can lie over it: the sandbox is hibernated again, and
 * that checkpoint has its own links, or its VM has ended. Never rejects.
 */
export async function removeMemoryBase(host: Host, { id }: Sandbox): Promise<void> {
  await host.store.checkpoints
    .remove(host.store.dir.memoryBase(id))
    .catch((error: unknown) => host.log.error({ err: error, sandbox_id: id }, 'old base not removed'))
}

import type { PromoteOnAgentBody } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import { announce, type HostStore } from '../model/host.ts'
import { writeManifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** Makes a child of a fork-tree its winner: a sandbox without a parent. A second call announces nothing. @throws ApiError 409 */
export async function promoteSandbox(store: HostStore, sandbox: Sandbox, body: PromoteOnAgentBody): Promise<void> {
  await sandbox.change(async () => {
    const manifest = { ...sandbox.manifest, parent_id: null }
    if (manifest.fork_tree_id !== body.tree_id) {
      throw new ApiError('conflict', { error: 'sandbox is not a child of this fork-tree' })
    }
    await writeManifest(store.dir.sandbox(sandbox.id), manifest)
    sandbox.manifest = manifest
    if (sandbox.events.has('fork_tree.promoted')) return
    await announce(store, sandbox, {
      type: 'fork_tree.promoted',
      message: 'sandbox is the winner of its fork-tree',
      metadata: { tree_id: body.tree_id, deleted: body.deleted },
    })
  })
}

import type { AgentLifecyclePatch } from '@offshoot/contract/agent-api'
import type { Host } from '../model/host.ts'
import { writeManifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** Sets whether and when a sandbox hibernates by itself; what the patch does not name stays. */
export async function changeLifecycle(host: Host, sandbox: Sandbox, patch: AgentLifecyclePatch): Promise<void> {
  await sandbox.change(async () => {
    const { persistent, idle_timeout_seconds } = sandbox.manifest
    const manifest = {
      ...sandbox.manifest,
      persistent: patch.persistent ?? persistent,
      idle_timeout_seconds: patch.idle_timeout_seconds ?? idle_timeout_seconds,
    }
    await writeManifest(host.dir.sandbox(sandbox.id), manifest)
    sandbox.manifest = manifest
  })
}

import { isDeepStrictEqual } from 'node:util'
import type { AgentLifecyclePatch, WakeOnAgentBody } from '@offshoot/contract/agent-api'
import type { Host } from '../model/host.ts'
import { writeManifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox, Wake } from '../model/sandbox.ts'
import { changeLimits } from '../start/limit-vm.ts'

/**
 * Sets whether and when a sandbox hibernates by itself, and how fast it may be: at once where it has a VM, else when it has
 * one again. What the patch does not name stays.
 */
export async function changeLifecycle(host: Host, sandbox: Sandbox, asked: AgentLifecyclePatch): Promise<void> {
  await sandbox.change(() => patch(host, sandbox, asked))
}

async function patch(host: Host, sandbox: Sandbox, asked: AgentLifecyclePatch): Promise<void> {
  const { persistent, idle_timeout_seconds, limits } = sandbox.manifest
  const manifest = {
    ...sandbox.manifest,
    persistent: asked.persistent ?? persistent,
    idle_timeout_seconds: asked.idle_timeout_seconds ?? idle_timeout_seconds,
    limits: asked.limits ?? limits,
  }
  await writeManifest(host.store.dir.sandbox(sandbox.id), manifest)
  sandbox.manifest = manifest
  if (asked.limits !== undefined && sandbox.vm !== null) await changeLimits(host.platform, manifest, sandbox.vm)
}

/** Wakes a sandbox under the limits that control names; one that runs already has them at once. */
export async function wakeUnder(host: Host, sandbox: Sandbox, { limits }: WakeOnAgentBody): Promise<Wake> {
  if (limits !== undefined && !isDeepStrictEqual(limits, sandbox.manifest.limits)) {
    await sandbox.change(async () => {
      // The wake writes the manifest.
      if (sandbox.manifest.status === 'hibernated') sandbox.manifest = { ...sandbox.manifest, limits }
      else await patch(host, sandbox, { limits })
    })
  }
  return sandbox.wake()
}

import { isDeepStrictEqual } from 'node:util'
import type { AgentLifecyclePatch, WakeOnAgentBody } from '@offshoot/contract/agent-api'
import type { Host } from '../model/host.ts'
import { writeManifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox, Wake } from '../model/sandbox.ts'
import { changeLimits } from '../start/apply-limits.ts'

/**
 * Changes when a sandbox hibernates by itself, and its limits. New limits apply at once if it has a VM, otherwise with its
 * next VM. Keeps every setting that the patch does not name.
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

/** Wakes a sandbox with the limits that control names. A running sandbox gets them at once. */
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

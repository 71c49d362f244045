import { isDeepStrictEqual } from 'node:util'
import type { AgentLifecyclePatch, WakeOnAgentBody } from '@offshoot/contract/agent-api'
import { announce, type Host } from '../model/host.ts'
import { writeManifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox, Wake } from '../model/sandbox.ts'
import { changeLimits } from '../start/apply-limits.ts'

/**
 * Changes when a sandbox hibernates by itself, who may open its ports, and its limits. New limits apply at once if it has a VM, otherwise with its
 * next VM. Keeps every setting that the patch does not name.
 */
export async function changeLifecycle(host: Host, sandbox: Sandbox, asked: AgentLifecyclePatch): Promise<void> {
  await sandbox.change(() => patch(host, sandbox, asked))
}

async function patch(host: Host, sandbox: Sandbox, asked: AgentLifecyclePatch): Promise<void> {
  const { persistent, idle_timeout_seconds, visibility, limits } = sandbox.manifest
  const manifest = {
    ...sandbox.manifest,
    persistent: asked.persistent ?? persistent,
    idle_timeout_seconds: asked.idle_timeout_seconds ?? idle_timeout_seconds,
    visibility: asked.visibility ?? visibility,
    limits: asked.limits ?? limits,
  }
  await writeManifest(host.store.dir.sandbox(sandbox.id), manifest)
  sandbox.manifest = manifest
  if (manifest.visibility !== visibility) await tellVisibility(host, sandbox)
  if (asked.limits !== undefined && sandbox.vm !== null) await changeLimits(host.platform, manifest, sandbox.vm)
}

/** From here on, the agent refuses unadmitted visitors of a private sandbox, so none can be added to those that it ends. */
async function tellVisibility(host: Host, sandbox: Sandbox): Promise<void> {
  const { visibility } = sandbox.manifest
  if (visibility === 'private') for (const end of sandbox.publicStreams) end()
  const message = `ports are ${visibility} now`
  await announce(host.store, sandbox, { type: 'sandbox.visibility_changed', message, metadata: { visibility } })
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

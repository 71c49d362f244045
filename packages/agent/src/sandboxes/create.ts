import { mkdir } from 'node:fs/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { guestIdentity, type GuestIdentity } from '../vm/guest-identity.ts'
import { takeUpAllBackground } from './background-watch.ts'
import { announceBirth } from './announce-state.ts'
import { bootVm } from './boot-vm.ts'
import type { Host } from './host.ts'
import { writeManifest, writeManifestQuickly, type Manifest } from './manifest.ts'
import { refusal } from './refusal.ts'
import { removeTraces } from './remove-traces.ts'
import { Sandbox } from './sandbox.ts'
import type { Seed } from './seed.ts'
import { sweepLayersSoon } from './sweep-layers.ts'
import { watchVm } from './watch-vm.ts'

/** Milliseconds from a restore's turn to a guest that answers; a hundred times the usual. */
const RESTORE_MS = 30_000
const KILL_MS = 10_000

export interface CreateRequest {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  readonly seed: Seed
  /** Goes to the guest and nowhere else. */
  readonly env: GuestIdentity['env']
  readonly settings: Pick<Manifest, 'persistent' | 'idle_timeout_seconds'>
  readonly lineage: Pick<Manifest, 'parent_id' | 'fork_tree_id'>
}

/**
 * Makes a sandbox from what was kept of another guest, and answers when its own has answered.
 * Whatever fails, nothing is left of it.
 * @throws ApiError 409 id taken, 404 deleted meanwhile, 507 no memory or disk for it, 500 anything else with the cause in
 *   the log
 */
export async function createSandbox(host: Host, request: CreateRequest): Promise<Sandbox> {
  const acceptedAt = performance.now()
  const sandbox = register(host, request)
  return sandbox.change(async (cancelled) => {
    try {
      const release = await host.gates.admission.admit(sandbox.manifest.memory_mb)
      try {
        await host.gates.restores.run(() => start(host, sandbox, request, acceptedAt), cancelled)
      } finally {
        release()
      }
      return sandbox
    } catch (error) {
      await removeTraces(host, sandbox)
      sweepLayersSoon(host)
      throw await refusal(host, sandbox, 'sandbox could not be started', error)
    }
  })
}

function register(host: Host, { id, workspaceId, seed, settings, lineage }: CreateRequest): Sandbox {
  if (host.sandboxes.has(id)) throw new ApiError('conflict', { detail: 'a sandbox with this id is already here' })
  const slot = host.slots.take()
  if (slot === null) throw new ApiError('insufficientMemory', { detail: 'this agent has no free slot' })
  const content: Manifest = {
    id,
    workspace_id: workspaceId,
    ...seed.manifest,
    ...settings,
    ...lineage,
    slot,
    status: 'creating',
    created_at: new Date().toISOString(),
    guest_ip: null,
    boot_ms: null,
    boot_mode: null,
    qemu: null,
  }
  const sandbox = new Sandbox(content, host)
  host.sandboxes.set(id, sandbox)
  return sandbox
}

async function start(host: Host, sandbox: Sandbox, { seed, env }: CreateRequest, acceptedAt: number): Promise<void> {
  const { id, manifest, leaving } = sandbox
  const folder = host.dir.sandbox(id)
  await mkdir(folder, { mode: 0o711 })
  await writeManifestQuickly(folder, manifest)
  const from = {
    checkpoint: seed.checkpoint,
    greet: (link, deadline) => link.refresh(guestIdentity(id, env), deadline),
  } satisfies Parameters<typeof bootVm>[2]
  const vm = await bootVm(host, sandbox, from, Deadline.after(RESTORE_MS, `restore of ${id}`, leaving.signal))
  const running: Manifest = {
    ...manifest,
    status: 'running',
    layers: [],
    guest_ip: seed.guestIp,
    boot_ms: Math.round(performance.now() - acceptedAt),
    boot_mode: seed.bootMode,
    qemu: vm.process,
  }
  try {
    await writeManifest(folder, running)
    await announceBirth(host, sandbox, running)
  } catch (error) {
    await vm.kill(Deadline.after(KILL_MS, `end of ${id}`))
    throw error
  }
  sandbox.manifest = running
  sandbox.vm = vm
  watchVm(host, sandbox, vm)
  if (seed.checkpoint !== null) void takeUpAllBackground([sandbox], host.log)
}

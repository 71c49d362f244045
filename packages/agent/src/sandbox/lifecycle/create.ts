import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import type { GuestIdentity } from '../../machine/guest/guest-identity.ts'
import { addDevices, type Wanted } from '../../store/volumes/machine-device.ts'
import { adoptAllBackground } from '../commands/background-watch.ts'
import { announceBirth } from '../events/announce-state.ts'
import type { PrestartedChild } from '../start/prestarted-child.ts'
import type { Host } from '../model/host.ts'
import { writeRunningManifest, type Manifest } from '../../store/sandboxes/manifest.ts'
import { refusal } from '../model/refusal.ts'
import { noteDisk } from './note-disk.ts'
import { removeTraces } from './remove-traces.ts'
import { Sandbox } from '../model/sandbox.ts'
import type { Seed } from '../pool/seed.ts'
import { claimVolumes, prepareVolumes, releaseVolumes } from '../volumes/sandbox-volumes.ts'
import { startVm, type StartedVm } from '../start/start-vm.ts'
import { sweepLayersSoon } from '../cleanup/sweep-layers.ts'
import { watchVm } from './watch-vm.ts'

const KILL_MS = 10_000

export interface CreateRequest {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  readonly seed: Seed
  /** Goes to the guest and nowhere else. */
  readonly env: GuestIdentity['env']
  readonly settings: Pick<Manifest, 'persistent' | 'idle_timeout_seconds' | 'egress' | 'limits'>
  /** It is booted from the disk of its seed, which has one. */
  readonly isCold?: boolean
  readonly lineage: Pick<Manifest, 'parent_id' | 'fork_tree_id'>
  /** A QEMU that may have been started for it. */
  readonly prestarted?: PrestartedChild | null
  /** In the order of its devices, beside those that its seed brings. */
  readonly volumes?: readonly Wanted[]
}

/**
 * Makes a sandbox from what was kept of another guest, and answers when its own has answered.
 * Whatever fails, nothing is left of it.
 * @throws ApiError 402 credit spent, 409 id taken, 404 deleted meanwhile, 507 no memory or disk for it, 500 anything else with the cause in
 *   the log
 */
export async function createSandbox(host: Host, request: CreateRequest): Promise<Sandbox> {
  const acceptedAt = performance.now()
  host.store.credit.refuseIfSpent(request.workspaceId)
  const sandbox = register(host, request)
  return sandbox.change(async (cancelled) => {
    try {
      await prepareVolumes(host, sandbox)
      const started = await startVm(host, sandbox, request, cancelled)
      await keepRunning(host, sandbox, started, { seed: request.seed, acceptedAt })
      return sandbox
    } catch (error) {
      await removeTraces(host, sandbox)
      sweepLayersSoon(host)
      throw await refusal(host, sandbox, 'sandbox could not be started', error)
    }
  })
}

/** Takes all that it has to itself at once, so that of two who want the same volume one is refused. */
function register(host: Host, { id, workspaceId, seed, settings, lineage, volumes = [] }: CreateRequest): Sandbox {
  if (host.sandboxes.has(id)) throw new ApiError('conflict', { detail: 'a sandbox with this id is already here' })
  const devices = addDevices(seed.devices, volumes)
  claimVolumes(host.store, { id, devices })
  const slot = host.platform.slots.take()
  if (slot === null) {
    releaseVolumes(host.store, { id })
    throw new ApiError('insufficientMemory', { detail: 'this agent has no free slot' })
  }
  const content: Manifest = {
    id,
    workspace_id: workspaceId,
    ...seed.manifest,
    qemu_version: seed.manifest.qemu_version ?? host.platform.qemus.current.version,
    ...settings,
    ...lineage,
    slot,
    devices,
    status: 'creating',
    created_at: new Date().toISOString(),
    guest_ip: null,
    boot_ms: null,
    boot_mode: null,
    cold: false,
    qemu: null,
  }
  const sandbox = new Sandbox(content, host)
  host.sandboxes.set(id, sandbox)
  return sandbox
}

/** Says that it runs, in the manifest and in the log; when either fails its VM ends. */
async function keepRunning(
  host: Host,
  sandbox: Sandbox,
  { vm, bootMode }: StartedVm,
  { seed, acceptedAt }: { readonly seed: Seed; readonly acceptedAt: number },
): Promise<void> {
  const running: Manifest = {
    ...sandbox.manifest,
    status: 'running',
    layers: [],
    guest_ip: host.platform.network?.addressOf(sandbox.manifest.slot).ip ?? seed.guestIp,
    boot_ms: Math.round(performance.now() - acceptedAt),
    boot_mode: bootMode,
    qemu: vm.process,
  }
  try {
    await Promise.all([noteDisk(host.store, sandbox, vm), sandbox.firstManifest.onDisk])
    await writeRunningManifest(host.store.dir.sandbox(sandbox.id), running)
    await announceBirth(host.store, sandbox, running)
  } catch (error) {
    await vm.kill(Deadline.after(KILL_MS, `end of ${sandbox.id}`))
    throw error
  }
  sandbox.manifest = running
  sandbox.vm = vm
  watchVm(host, sandbox, vm)
  if (seed.checkpoint !== null) void adoptAllBackground([sandbox], host.log)
}

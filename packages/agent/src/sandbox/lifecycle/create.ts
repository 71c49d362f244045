import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import type { GuestIdentity } from '../../machine/guest/guest-identity.ts'
import { addDevices, type VolumeRequest } from '../../store/volumes/machine-device.ts'
import { adoptAllBackground } from '../commands/background-watch.ts'
import { announceBirth } from '../events/announce-state.ts'
import type { PrestartedChild } from '../start/prestarted-child.ts'
import type { Host } from '../model/host.ts'
import { writeRunningManifest, type Manifest } from '../../store/sandboxes/manifest.ts'
import { refusal } from '../model/refusal.ts'
import { recordDisk } from './record-disk.ts'
import { removeTraces } from './remove-traces.ts'
import { Sandbox } from '../model/sandbox.ts'
import { keepMapped } from '../model/kept-memory.ts'
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
  /** Passed to the guest only, never stored. */
  readonly env: GuestIdentity['env']
  readonly settings: Pick<Manifest, 'persistent' | 'idle_timeout_seconds' | 'egress' | 'visibility' | 'limits'>
  /** `true`: the sandbox boots from the disk of its seed, without memory. */
  readonly isCold?: boolean
  readonly lineage: Pick<Manifest, 'parent_id' | 'fork_tree_id'>
  readonly attemptId?: string | undefined
  /** A QEMU that may have been started for this child. */
  readonly prestarted?: PrestartedChild | null
  /** Volumes in addition to those of the seed, in the order of its devices. */
  readonly volumes?: readonly VolumeRequest[]
}

/**
 * Creates a sandbox from a seed: a template, a snapshot or another sandbox. Returns when its guest has answered. Leaves
 * nothing behind if it fails.
 * @throws ApiError 402 credit spent, 409 id taken or attempt given up, 404 deleted meanwhile, 507 no memory or disk space, 500 any other error,
 *   with its cause in the log
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

/**
 * Reserves id, volumes and slot without waiting in between, so that of two concurrent creates with the same volume one is
 * refused.
 */
function register(host: Host, request: CreateRequest): Sandbox {
  const { id, workspaceId, seed, settings, lineage, attemptId, volumes = [] } = request
  if (attemptId !== undefined && host.givenUpAttempts.has(attemptId))
    throw new ApiError('conflict', { detail: 'the attempt to make the sandbox was given up' })
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
    ...(attemptId !== undefined && { attempt_id: attemptId }),
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

/** Records in manifest and log that the sandbox runs. If either fails, its VM is ended. */
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
    await Promise.all([recordDisk(host.store, sandbox, vm), sandbox.firstManifest.onDisk])
    await writeRunningManifest(host.store.dir.sandbox(sandbox.id), running)
    await announceBirth(host.store, sandbox, running)
  } catch (error) {
    await vm.kill(Deadline.after(KILL_MS, `end of ${sandbox.id}`))
    throw error
  }
  sandbox.manifest = running
  sandbox.vm = vm
  watchVm(host, sandbox, vm)
  const { checkpoint } = seed
  if (checkpoint === null) return
  const { folder, bases } = checkpoint
  if (folder !== null) keepMapped(host, sandbox, vm, { folder, bases })
  void adoptAllBackground([sandbox], host.log)
}

import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { DEFAULT_IDLE_TIMEOUT_SECONDS } from '@offshoot/contract/sandbox'
import { Deadline } from '@offshoot/kit/deadline'
import type { BakedTemplate } from '../vm/bakes.ts'
import { guestIdentity } from '../vm/guest-identity.ts'
import { TRANSLATION_CACHE_MIB } from '../vm/machine.ts'
import { restore } from '../vm/restore.ts'
import { announce, type Host } from './host.ts'
import { limitVm } from './limit-vm.ts'
import { writeManifest, writeManifestQuickly, type Manifest } from './manifest.ts'
import { refusal } from './refusal.ts'
import { removeTraces } from './remove-traces.ts'
import { Sandbox } from './sandbox.ts'
import { uidOfSlot } from './slots.ts'
import { watchVm } from './watch-vm.ts'

/** Milliseconds from a restore's turn to a guest that answers; a hundred times the usual. */
const RESTORE_MS = 30_000
/** MiB that QEMU may hold beside its guest's memory and its translated code. */
const QEMU_MIB = 192
/** QEMU's own threads: main, vCPUs, worker threads of block devices (at most 64). */
const MAX_PROCESSES = 128
/** QEMU's messages, in the sandbox's folder. */
export const QEMU_LOG = 'qemu.log'

export interface CreateRequest {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  readonly baked: BakedTemplate
  /** Goes to the guest and nowhere else. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Makes a sandbox from its template's snapshot and answers when its guest has answered.
 * Whatever fails, nothing is left of it.
 * @throws ApiError 409 id taken, 507 no memory or disk for it, 500 anything else with the cause in the log
 */
export async function createSandbox(host: Host, request: CreateRequest): Promise<Sandbox> {
  const acceptedAt = performance.now()
  const sandbox = register(host, request)
  return sandbox.transitions.run(async () => {
    try {
      const release = await host.gates.admission.admit(sandbox.manifest.memory_mb)
      try {
        await host.gates.restores.run(() => start(host, sandbox, request, acceptedAt))
      } finally {
        release()
      }
      return sandbox
    } catch (error) {
      await removeTraces(host, sandbox)
      throw refusal(host, sandbox, 'sandbox could not be started', error)
    }
  })
}

function register(host: Host, { id, workspaceId, baked }: CreateRequest): Sandbox {
  if (host.sandboxes.has(id)) throw new ApiError('conflict', { detail: 'a sandbox with this id is already here' })
  const slot = host.slots.take()
  if (slot === null) throw new ApiError('insufficientMemory', { detail: 'this agent has no free slot' })
  const { image, manifest } = baked
  const content: Manifest = {
    id,
    workspace_id: workspaceId,
    template: image.name,
    bake: `${image.name}/${manifest.fingerprint}`,
    slot,
    status: 'creating',
    created_at: new Date().toISOString(),
    cpu: image.cpu,
    memory_mb: image.memory_mb,
    guest_ip: null,
    boot_ms: null,
    boot_mode: null,
    from_snapshot: null,
    parent_id: null,
    fork_tree_id: null,
    persistent: false,
    idle_timeout_seconds: DEFAULT_IDLE_TIMEOUT_SECONDS,
    qemu: null,
  }
  const sandbox = new Sandbox(content, host)
  host.sandboxes.set(id, sandbox)
  return sandbox
}

async function start(host: Host, sandbox: Sandbox, request: CreateRequest, acceptedAt: number): Promise<void> {
  const { id, manifest } = sandbox
  const { baked, env } = request
  const folder = host.dir.sandbox(id)
  const uid = uidOfSlot(manifest.slot)
  await makeFolders(host, sandbox, uid)
  const vm = await restore(
    {
      qemu: host.qemu.path,
      machine: baked.machine,
      bake: baked.folder,
      folder: host.dir.vm(id),
      logPath: join(folder, QEMU_LOG),
      confinement: { uid, preload: host.preload },
      identity: () => guestIdentity(id, env),
    },
    Deadline.after(RESTORE_MS, `restore of ${id}`),
  )
  limitVm(host, sandbox, vm)
  const bootMs = Math.round(performance.now() - acceptedAt)
  const running: Manifest = {
    ...manifest,
    status: 'running',
    guest_ip: baked.manifest.guest_ip,
    boot_ms: bootMs,
    boot_mode: 'snapshot',
    qemu: vm.process,
  }
  try {
    await writeManifest(folder, running)
    await announceRunning(host, sandbox, running)
  } catch (error) {
    await vm.kill(Deadline.after(RESTORE_MS, `end of ${id}`))
    throw error
  }
  sandbox.manifest = running
  sandbox.vm = vm
  watchVm(host, sandbox, vm)
}

/** Also what a restarted agent says of a VM that its predecessor had no time to announce. */
export async function announceRunning(host: Host, sandbox: Sandbox, manifest: Manifest): Promise<void> {
  const { boot_ms, boot_mode, guest_ip } = manifest
  await announce(host, sandbox, {
    type: 'sandbox.running',
    message: `sandbox is running after ${boot_ms} ms`,
    metadata: { boot_ms, boot_mode, from_snapshot: null, warm: false, guest_ip },
  })
}

async function makeFolders(host: Host, { id, manifest }: Sandbox, uid: number | null): Promise<void> {
  const folder = host.dir.sandbox(id)
  const vmFolder = host.dir.vm(id)
  await mkdir(folder, { mode: 0o711 })
  await writeManifestQuickly(folder, manifest)
  await mkdir(vmFolder, { mode: 0o700 })
  if (uid !== null) await chown(vmFolder, uid, uid)
  const memoryMib = manifest.memory_mb + TRANSLATION_CACHE_MIB + QEMU_MIB
  await host.cgroups?.create(id, { memoryMib, processes: MAX_PROCESSES })
}

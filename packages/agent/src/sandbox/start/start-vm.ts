import { makeSandboxFolder } from '../../store/data-dir/folders.ts'
import type { BootMode } from '@offshoot/contract/sandbox'
import { GuestLinkLost } from '@offshoot/guest-link/guest-link-error'
import { Deadline } from '@offshoot/kit/deadline'
import { checkpointFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { giveSpare } from './give-spare.ts'
import { copyZygote, endSpare } from './make-spare.ts'
import { guestIdentity, type GuestIdentity } from '../../machine/guest/guest-identity.ts'
import type { Greet } from '../../machine/restore/restore.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { deviceBits } from '../../store/volumes/machine-device.ts'
import { bootFromDisk } from './boot-from-disk.ts'
import { bootVm } from './boot-vm.ts'
import { type PrestartedChild, givePrestartedChild, isMeantFor } from './prestarted-child.ts'
import type { Host } from '../model/host.ts'
import { writeFirstManifest } from '../../store/sandboxes/manifest.ts'
import { openChannelAfter } from './open-channel-after.ts'
import type { Sandbox } from '../model/sandbox.ts'
import type { Seed } from '../pool/seed.ts'
import type { Spare } from '../pool/spare.ts'
import { networkIdentity } from './slot-network.ts'

/** Milliseconds from the start of a restore until the guest answers: a hundred times the usual. */
const RESTORE_MS = 30_000
/** Milliseconds for a prestarted guest to take its identity. If it fails, the agent restores another one. */
const GIVE_MS = 3000
/** Milliseconds for a boot, including the template's start and ready commands. */
const BOOT_MS = 90_000

export interface StartedVm {
  readonly vm: Vm
  readonly bootMode: BootMode
}

interface Start {
  readonly seed: Seed
  readonly env: GuestIdentity['env']
  readonly prestarted?: PrestartedChild | null
  readonly isCold?: boolean
}

/** A VM that was started before its sandbox existed. */
interface VmBeforeSandbox {
  readonly slot: number
  readonly folder: string
  readonly vm: Vm
  /** Moves its folder, and gives it the sandbox's identity. */
  readonly give: (greet: Greet, deadline: Deadline) => Promise<void>
}

/**
 * Gets a VM with the sandbox's identity: a QEMU that was started for this child, or a spare, or a copy of a zygote or a restored
 * VM, which waits for memory and for others of its kind. The sandbox's folder exists afterwards, with the manifest `creating`.
 * @throws ApiError 507
 */
export async function startVm(host: Host, sandbox: Sandbox, start: Start, cancelled: AbortSignal): Promise<StartedVm> {
  if (start.isCold) return { vm: await restoreInTurn(host, sandbox, start, cancelled), bootMode: 'cold' }
  const prestarted = await takePrestarted(host, sandbox, start)
  if (prestarted !== null) return { vm: prestarted, bootMode: start.seed.bootMode }
  // Spares have no volume devices.
  const spare = sandbox.manifest.devices.length === 0 ? host.pool.take(start.seed) : null
  if (spare !== null && (await takeSpare(host, sandbox, spare, start))) return { vm: spare.vm, bootMode: 'pool' }
  const copy = await copyInTurn(host, sandbox, start, cancelled)
  if (copy !== null) return { vm: copy, bootMode: start.seed.bootMode }
  return { vm: await restoreInTurn(host, sandbox, start, cancelled), bootMode: start.seed.bootMode }
}

/** A copy of the template's zygote, made for this sandbox. @returns `null` if there is no zygote, or the copy failed */
async function copyInTurn(host: Host, sandbox: Sandbox, start: Start, cancelled: AbortSignal): Promise<Vm | null> {
  const { manifest, checkpoint } = start.seed
  const find = () =>
    checkpoint === null && sandbox.manifest.devices.length === 0 ? host.zygotes.of(manifest.bake) : null
  if (find() === null) return null
  return inTurn(host, sandbox, cancelled, async () => {
    // The admission may have ended the zygote for its memory.
    const zygote = find()
    const copy = zygote === null ? null : await copyZygote(host, zygote, cancelled)
    return copy !== null && (await takeSpare(host, sandbox, copy, start)) ? copy.vm : null
  })
}

async function restoreInTurn(host: Host, sandbox: Sandbox, start: Start, cancelled: AbortSignal): Promise<Vm> {
  return inTurn(host, sandbox, cancelled, () => restoreVm(host, sandbox, start))
}

/** After an admission, and after the starts before it. @throws ApiError 507 */
async function inTurn<T>(
  { gates }: Host,
  { manifest }: Sandbox,
  cancelled: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const release = await gates.admission.admit(manifest.memory_mb)
  try {
    return await gates.restores.run(work, cancelled)
  } finally {
    release()
  }
}

function takeSpare(host: Host, sandbox: Sandbox, spare: Spare, start: Start): Promise<boolean> {
  const give: VmBeforeSandbox['give'] = (greet, deadline) => giveSpare(host, sandbox, spare, greet, deadline)
  return takePrestartedVm(host, sandbox, { ...spare, give }, start)
}

/** @returns `null` if no QEMU was started for it, or one with another disk */
async function takePrestarted(host: Host, sandbox: Sandbox, start: Start): Promise<Vm | null> {
  const { prestarted, seed } = start
  const checkpoint = seed.checkpoint?.folder ?? null
  if (!prestarted || checkpoint === null || !(await isMeantFor(host.store, prestarted, seed))) return null
  prestarted.isTaken = true
  const { slot, folder, starting } = prestarted
  const statePath = checkpointFiles(checkpoint).state
  const give: VmBeforeSandbox['give'] = (greet, deadline) =>
    givePrestartedChild(host, sandbox, prestarted, { statePath, greet }, deadline)
  return (await takePrestartedVm(host, sandbox, { slot, folder, vm: starting.vm, give }, start)) ? starting.vm : null
}

/** @returns `false` if it failed. Everything of the VM is removed then; the sandbox keeps the slot. */
async function takePrestartedVm(
  host: Host,
  sandbox: Sandbox,
  waiting: VmBeforeSandbox,
  { env }: Start,
): Promise<boolean> {
  const { id, manifest, leaving } = sandbox
  host.platform.slots.release(manifest.slot)
  sandbox.manifest = { ...manifest, slot: waiting.slot }
  try {
    const deadline = Deadline.after(GIVE_MS, `identity of ${id}`, leaving.signal)
    await host.platform.network?.open(waiting.slot, manifest.egress)
    await waiting.give(giveIdentity(host, sandbox, env), deadline)
    return true
  } catch (error) {
    await endSpare(host.platform, waiting)
    await host.store.ledger.discard('sandbox', host.store.dir.sandbox(id), 'its prestarted guest failed')
    leaving.signal.throwIfAborted()
    host.log.warn({ err: error, sandbox_id: id }, 'prestarted guest could not be used: restoring another one')
    return false
  }
}

async function restoreVm(host: Host, sandbox: Sandbox, { seed, env, isCold = false }: Start): Promise<Vm> {
  const { id, manifest, leaving } = sandbox
  const folder = host.store.dir.sandbox(id)
  await makeSandboxFolder(folder)
  sandbox.firstManifest = await writeFirstManifest(folder, manifest)
  if (isCold) {
    const from = { ...(await bootFromDisk(host, sandbox, env)), known: [] }
    return bootVm(host, { ...manifest, folder }, from, Deadline.after(BOOT_MS, `boot of ${id}`, leaving.signal))
  }
  const from = { checkpoint: seed.checkpoint, known: seed.devices, greet: giveIdentity(host, sandbox, env) }
  return bootVm(host, { ...manifest, folder }, from, Deadline.after(RESTORE_MS, `restore of ${id}`, leaving.signal))
}

/** The agent does not wait until the guest has applied everything: users reach it only after that. */
function giveIdentity(host: Host, { id, manifest, leaving }: Sandbox, env: GuestIdentity['env']): Greet {
  return async (vm, deadline) => {
    const link = await vm.link(deadline)
    const volumes = deviceBits(manifest.devices)
    const identity = guestIdentity(id, env, networkIdentity(host.platform, manifest.slot))
    // Longer than the caller waits for a spare to begin, because the create is answered before the guest has applied
    // everything.
    const settling = Deadline.after(RESTORE_MS, `identity of ${id}`, leaving.signal)
    const { begun, settled } = link.refresh({ ...identity, volumes }, settling)
    await deadline.race(begun)
    openChannelAfter(host, vm, {
      done: settled.catch(unlessLost),
      failure: 'guest did not apply its identity',
      leaving: leaving.signal,
    })
  }
}

/** A lost link is no failure: the guest goes on, and serves its next link afterwards. A guest that failed serves none. */
function unlessLost(error: unknown): void {
  if (!(error instanceof GuestLinkLost)) throw error
}

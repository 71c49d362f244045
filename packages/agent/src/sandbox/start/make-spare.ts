import { randomUUID } from 'node:crypto'
import { makeSandboxFolder, removeTree } from '../../store/data-dir/folders.ts'
import { join } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { runFamiliarPrograms } from '../../machine/bakes/warm-guest.ts'
import { unsharedMemoryMib } from '../../machine/host/process-memory.ts'
import type { Greet } from '../../machine/restore/restore.ts'
import { Zygote } from '../../machine/zygotes/zygote.ts'
import { bootVm } from './boot-vm.ts'
import { prepareVm, type VmPlace } from './prepare-vm.ts'
import type { Host, HostPlatform } from '../model/host.ts'
import type { Seed } from '../pool/seed.ts'
import { networkIdentity } from './slot-network.ts'
import { guestIdentity } from '../../machine/guest/guest-identity.ts'
import { stopHeld } from '../../machine/guest/hold.ts'
import { setLowPriorityUntil } from '../../machine/vm/priority.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { PoolZygote, Spare } from '../pool/spare.ts'

const RESTORE_MS = 30_000
const KILL_MS = 10_000
/** Milliseconds during which a new spare has a low CPU priority. Requests come first, above all a create from the pool. */
const LOW_PRIORITY_MS = 2000

/** Makes a spare after the restores before it. @returns `null` if the host has too little memory or disk space */
export async function makeSpareInTurn(host: Host, seed: Seed, cancelled: AbortSignal): Promise<Spare | null> {
  return inTurn(host, seed, cancelled, async () => {
    const zygote = host.zygotes.of(seed.manifest.bake)
    const copy = zygote === null ? null : await copyZygote(host, zygote, cancelled)
    return copy ?? (await makeSpare(host, seed, cancelled))
  })
}

/** Whether spares may be copied from a zygote (native/zygote.c). Under KVM they may not, and need not: nothing is translated. */
export function mayHaveZygote(platform: HostPlatform, { isTrusted, manifest }: Seed): boolean {
  const { qemus } = platform
  return isTrusted && isEmulated(platform, manifest) && qemus.current.jail !== null && process.arch === 'x64'
}

function isEmulated({ machines }: HostPlatform, manifest: Seed['manifest']): boolean {
  return machines.of(manifest).accelerator === 'tcg'
}

/** Makes a zygote, likewise. */
export async function makeZygoteInTurn(host: Host, seed: Seed, cancelled: AbortSignal): Promise<PoolZygote | null> {
  return inTurn(host, seed, cancelled, async () => makeZygote(host, seed, cancelled))
}

async function inTurn<T>(host: Host, seed: Seed, cancelled: AbortSignal, make: () => Promise<T>): Promise<T | null> {
  const { admission, restores } = host.gates
  if ((await host.store.room.look()).state === 'refusing') return null
  const release = await admission.admitSpare(seed.manifest.memory_mb)
  if (release === null) return null
  try {
    return await restores.run(make, cancelled)
  } finally {
    release()
  }
}

/**
 * Restores a template's guest, gives it a first identity, so that the pages it needs for the next one are in memory, and
 * stops it. If this fails, it leaves nothing behind.
 */
async function makeSpare(host: Host, seed: Seed, cancelled: AbortSignal): Promise<Spare> {
  return inSlot(host, cancelled, async ({ id, slot, folder, made, deadline }) => {
    const vm = await bootVm(
      host,
      // Its sandbox decides about egress and limits later. The spare is stopped until then.
      { ...seed.manifest, egress: 'internet', limits: null, slot, folder, devices: [], lowPriorityUntil: made },
      {
        checkpoint: null,
        known: [],
        onLaunch: (process) => setLowPriorityUntil(made, process),
        greet: firstIdentity(host, id, slot),
      },
      deadline,
    )
    await orKill(vm, warmAndStop(host, seed, vm, deadline))
    return { seed, slot, folder, vm, memoryMib: await unsharedMemoryMib(vm.process.pid), isCopy: false }
  })
}

/**
 * Stops a restored spare. A database's runs what clients run first, so that QEMU has translated it: that takes most of the time of
 * a create, and the first creates come before there is a zygote.
 */
async function warmAndStop({ platform }: Host, { manifest }: Seed, vm: Vm, deadline: Deadline): Promise<void> {
  if (manifest.durable && isEmulated(platform, manifest)) await runFamiliarPrograms(await vm.link(deadline), deadline)
  await stopHeld(vm, deadline)
}

/**
 * Restores a template's guest and lets it run what sandboxes run first, so that copies of it need not translate that. It reaches
 * no network.
 */
async function makeZygote(host: Host, seed: Seed, cancelled: AbortSignal): Promise<PoolZygote> {
  return inSlot(host, cancelled, async ({ id, slot, folder, made, deadline }) => {
    const place: VmPlace = { ...seed.manifest, egress: 'none', limits: null, slot, folder, devices: [] }
    const options = await prepareVm(host, { ...place, lowPriorityUntil: made })
    const zygote = await Zygote.start(
      {
        ...options,
        layers: host.store.layers,
        confinement: { ...options.confinement, diesWithAgent: true },
        onLaunch: (process) => setLowPriorityUntil(made, process),
        greet: firstIdentity(host, id, slot),
      },
      async (vm) => runFamiliarPrograms(await vm.link(deadline), deadline),
      deadline,
    )
    return { seed, slot, folder, zygote, memoryMib: await unsharedMemoryMib(zygote.vm.process.pid) }
  })
}

/** @returns `null` if it failed. The zygote is given up then */
export async function copyZygote(host: Host, source: PoolZygote, cancelled: AbortSignal): Promise<Spare | null> {
  const { seed, zygote } = source
  try {
    return await inSlot(host, cancelled, async ({ slot, folder, deadline }) => {
      const place: VmPlace = { ...seed.manifest, egress: 'internet', limits: null, slot, folder, devices: [] }
      const vm = await zygote.fork(await prepareVm(host, place), deadline)
      return { seed, slot, folder, vm, memoryMib: await unsharedMemoryMib(vm.process.pid), isCopy: true }
    })
  } catch (error) {
    cancelled.throwIfAborted()
    host.log.warn({ err: error, template: seed.manifest.template }, 'zygote could not be copied: restoring a guest')
    await host.zygotes.discard(source, 'it could not be copied')
    return null
  }
}

interface SpareSlot extends Pick<Spare, 'slot' | 'folder'> {
  readonly id: SandboxId
  /** Aborts when its guest is made, or after a while: until then it gives way to requests. */
  readonly made: AbortSignal
  readonly deadline: Deadline
}

/** If `make` fails, nothing is left; it ends the process that it started. */
async function inSlot<T>(host: Host, cancelled: AbortSignal, make: (place: SpareSlot) => Promise<T>): Promise<T> {
  const slot = host.platform.slots.take()
  if (slot === null) throw new Error('no slot is free')
  const id = randomUUID() as SandboxId
  const folder = join(host.store.dir.spares, id)
  const deadline = Deadline.after(RESTORE_MS, 'restore of a spare guest', cancelled)
  // Once the spare is made, all its threads exist and are stopped, so their priority can be raised before a sandbox takes
  // it.
  const made = new AbortController()
  const timer = setTimeout(() => made.abort(), LOW_PRIORITY_MS)
  try {
    await makeSandboxFolder(folder)
    return await make({ id, slot, folder, made: made.signal, deadline })
  } catch (error) {
    await removeSpare(host.platform, { slot, folder, vm: null })
    throw error
  } finally {
    clearTimeout(timer)
    made.abort()
  }
}

function firstIdentity(host: Host, id: SandboxId, slot: number): Greet {
  return async (vm, deadline) => {
    const link = await vm.link(deadline)
    await link.refresh(guestIdentity(id, {}, networkIdentity(host.platform, slot)), deadline).settled
  }
}

async function orKill(vm: Vm, step: Promise<void>): Promise<void> {
  await step.catch(async (error: unknown) => {
    await vm.kill(Deadline.after(KILL_MS, 'end of a spare guest'))
    throw error
  })
}

/** Ends a spare that no sandbox has taken, and releases its slot. */
export async function removeSpare(
  platform: HostPlatform,
  spare: Pick<Spare, 'slot' | 'folder'> & { readonly vm: Vm | null },
): Promise<void> {
  await endSpare(platform, spare)
  platform.slots.release(spare.slot)
}

/** Ends a spare, and removes its control group and folder. The slot stays reserved. */
export async function endSpare(
  platform: HostPlatform,
  { slot, folder, vm }: Pick<Spare, 'slot' | 'folder'> & { readonly vm: Vm | null },
): Promise<void> {
  await vm?.kill(Deadline.after(KILL_MS, 'end of a spare guest'))
  await platform.cgroups?.remove(slot)
  await removeTree(folder)
}

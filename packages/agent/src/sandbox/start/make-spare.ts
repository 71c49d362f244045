import { randomUUID } from 'node:crypto'
import { makeSandboxFolder, removeTree } from '../../store/data-dir/folders.ts'
import { join } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { ownMemoryMib } from '../../machine/host/process-memory.ts'
import { bootVm } from './boot-vm.ts'
import type { Host, HostPlatform } from '../model/host.ts'
import type { Seed } from '../pool/seed.ts'
import { networkIdentity } from './slot-network.ts'
import { guestIdentity } from '../../machine/guest/guest-identity.ts'
import { stopHeld } from '../../machine/guest/hold.ts'
import { setLowPriorityUntil } from '../../machine/vm/priority.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Spare } from '../pool/spare.ts'

const RESTORE_MS = 30_000
const KILL_MS = 10_000
/** Milliseconds during which a new spare has a low CPU priority. Requests come first, above all a create from the pool. */
const LOW_PRIORITY_MS = 2000

/** Makes a spare after the restores before it. @returns `null` if the host has too little memory or disk space */
export async function makeSpareInTurn(host: Host, seed: Seed, cancelled: AbortSignal): Promise<Spare | null> {
  const { admission, restores } = host.gates
  if ((await host.store.room.look()).state === 'refusing') return null
  const release = await admission.admitSpare(seed.manifest.memory_mb)
  if (release === null) return null
  try {
    return await restores.run(() => makeSpare(host, seed, cancelled), cancelled)
  } finally {
    release()
  }
}

/**
 * Restores a template's guest, gives it a first identity, so that the pages it needs for the next one are in memory, and
 * stops it. If this fails, it leaves nothing behind.
 */
async function makeSpare(host: Host, seed: Seed, cancelled: AbortSignal): Promise<Spare> {
  const slot = host.platform.slots.take()
  if (slot === null) throw new Error('no slot is free')
  const id = randomUUID() as SandboxId
  const folder = join(host.store.dir.spares, id)
  const deadline = Deadline.after(RESTORE_MS, 'restore of a spare guest', cancelled)
  let vm: Vm | null = null
  // Once the spare is made, all its threads exist and are stopped, so their priority can be raised before a sandbox takes
  // it.
  const made = new AbortController()
  const timer = setTimeout(() => made.abort(), LOW_PRIORITY_MS)
  try {
    await makeSandboxFolder(folder)
    vm = await bootVm(
      host,
      // Its sandbox decides about egress and limits later. The spare is stopped until then.
      { ...seed.manifest, egress: 'internet', limits: null, slot, folder, devices: [], lowPriorityUntil: made.signal },
      {
        checkpoint: null,
        known: [],
        onLaunch: (process) => setLowPriorityUntil(made.signal, process),
        greet: async (restored) => {
          const link = await restored.link(deadline)
          await link.refresh(guestIdentity(id, {}, networkIdentity(host.platform, slot)), deadline).settled
        },
      },
      deadline,
    )
    await stopHeld(vm, deadline)
    return { seed, slot, folder, vm, memoryMib: await ownMemoryMib(vm.process.pid) }
  } catch (error) {
    await removeSpare(host.platform, { slot, folder, vm })
    throw error
  } finally {
    clearTimeout(timer)
    made.abort()
  }
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

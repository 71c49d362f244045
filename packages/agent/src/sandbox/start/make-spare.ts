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
import { giveWayUntil } from '../../machine/vm/priority.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Spare } from '../pool/spare.ts'

const RESTORE_MS = 30_000
const KILL_MS = 10_000
/** Milliseconds for which one that is made leaves the CPUs to whatever somebody waits for, a create from the pool above all. */
const GIVE_WAY_MS = 2000

/** A spare guest, made in its turn; `null` when the host has no memory or disk for one. */
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
 * Restores a template's guest, which takes an identity once, so that what it takes when it is given away is at hand, and
 * is stopped. Whatever fails, nothing is left.
 */
async function makeSpare(host: Host, seed: Seed, cancelled: AbortSignal): Promise<Spare> {
  const slot = host.platform.slots.take()
  if (slot === null) throw new Error('no slot is free')
  const id = randomUUID() as SandboxId
  const folder = join(host.store.dir.spares, id)
  const deadline = Deadline.after(RESTORE_MS, 'restore of a spare guest', cancelled)
  let vm: Vm | null = null
  // Its threads are all there and stand still when it is made: who gets it has nothing left to do.
  const hurry = new AbortController()
  const timer = setTimeout(() => hurry.abort(), GIVE_WAY_MS)
  try {
    await makeSandboxFolder(folder)
    vm = await bootVm(
      host,
      // What it may send, and how fast it may be, is its sandbox's to say; until then it stands still.
      { ...seed.manifest, egress: 'internet', limits: null, slot, folder, devices: [], givesWayUntil: hurry.signal },
      {
        checkpoint: null,
        known: [],
        onLaunch: (process) => giveWayUntil(hurry.signal, process),
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
    hurry.abort()
  }
}

/** Ends a spare guest that nobody has got, and gives its slot back. */
export async function removeSpare(
  platform: HostPlatform,
  spare: Pick<Spare, 'slot' | 'folder'> & { readonly vm: Vm | null },
): Promise<void> {
  await endSpare(platform, spare)
  platform.slots.release(spare.slot)
}

/** Removes all that a spare guest has but its slot. */
export async function endSpare(
  platform: HostPlatform,
  { slot, folder, vm }: Pick<Spare, 'slot' | 'folder'> & { readonly vm: Vm | null },
): Promise<void> {
  await vm?.kill(Deadline.after(KILL_MS, 'end of a spare guest'))
  await platform.cgroups?.remove(slot)
  await removeTree(folder)
}

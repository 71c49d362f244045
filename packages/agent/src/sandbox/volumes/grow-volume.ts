import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { toolPlace } from './tool-place.ts'
import { requireVm } from '../model/stopping.ts'
import { nodeOfPlace } from '../../machine/vm/volume-devices.ts'
import { growExt4 } from '../../machine/disks/ext4.ts'
import { admitVolume } from '../../store/volumes/headroom.ts'
import type { Holder } from '../../store/volumes/holders.ts'
import type { VolumeRecord } from '../../store/volumes/volume-record.ts'

const MIB = 1024 * 1024
/** Milliseconds to grow a file system to 64 GiB. */
const GROW_MS = 120_000

/**
 * Grows a volume and its file system, even while a sandbox writes to it. Writes the record first: the agent finishes an
 * interrupted growth before the next sandbox gets the volume.
 * @throws ApiError 400 smaller than before; 409 sandboxes read it, or its writer is paused or hibernated; 507
 */
export async function growVolume(host: Host, record: VolumeRecord, sizeMb: number): Promise<VolumeRecord> {
  if (sizeMb < record.size_mb) {
    throw new ApiError('invalidField', { error: `size_mb must be >= ${record.size_mb}: a volume does not shrink` })
  }
  if (sizeMb === record.size_mb && !record.is_growing) return record
  const { volumes } = host.store
  await host.store.room.admit('volume')
  await admitVolume(volumes.folder, await volumes.promisedMib(), sizeMb - record.size_mb)
  const deadline = Deadline.after(GROW_MS, `growth of volume ${record.id}`)
  const [hold] = volumes.holders.of(record.id)
  const writer =
    hold && 'sandboxId' in hold.holder && !hold.isReadOnly ? host.sandboxes.get(hold.holder.sandboxId) : null
  return writer ? growUnder(host, writer, record, sizeMb, deadline) : growAlone(host, record, sizeMb, deadline)
}

async function growAlone(host: Host, record: VolumeRecord, sizeMb: number, deadline: Deadline): Promise<VolumeRecord> {
  const { volumes } = host.store
  const { slots } = host.platform
  const holder: Holder = { work: 'changed' }
  volumes.holders.claim([{ volume: record, isReadOnly: false }], holder)
  // The tools read a guest's data, so they run as the user of a slot that no VM has meanwhile.
  const slot = slots.take()
  try {
    if (slot === null) throw new ApiError('insufficientMemory', { detail: 'this agent has no free slot' })
    const growing = await volumes.change(record.id, { size_mb: sizeMb, is_growing: true })
    await volumes.stretch(growing)
    await growExt4(volumes.path(record.id), toolPlace(host.platform, slot), deadline)
    return await volumes.change(record.id, { is_growing: false })
  } finally {
    if (slot !== null) slots.release(slot)
    volumes.holders.release(holder)
  }
}

/** The guest's kernel grows a mounted file system. The agent grows any other one before the next sandbox gets it. */
async function growUnder(
  host: Host,
  sandbox: Sandbox,
  { id }: VolumeRecord,
  sizeMb: number,
  deadline: Deadline,
): Promise<VolumeRecord> {
  return sandbox.change(async () => {
    const vm = requireVm(sandbox, 'running')
    const device = sandbox.manifest.devices.find(({ volume }) => volume?.id === id)
    if (device === undefined) throw new ApiError('conflict', { detail: 'the volume has just been given back' })
    await host.store.volumes.change(id, { size_mb: sizeMb, is_growing: true })
    await vm.qmp.execute('block_resize', { 'node-name': nodeOfPlace(device.place), size: sizeMb * MIB }, deadline)
    const link = await vm.link(deadline)
    const isGrown = await link.files.growVolume(device.place, sizeMb * MIB, { deadline }).catch((error: unknown) => {
      host.log.warn({ err: error, sandbox_id: sandbox.id, volume_id: id }, 'file system not grown in the guest')
      return false
    })
    return host.store.volumes.change(id, { is_growing: !isGrown })
  })
}

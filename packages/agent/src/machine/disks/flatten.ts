import { setTimeout as wait } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { BAKE_NODE, descriptorPath } from '../vm/machine.ts'
import type { Vm } from '../vm/vm.ts'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import { nodeOfLayer } from '../../store/disks/layer-id.ts'

const JOB = 'flatten'
const POLL_MS = 20
const CANCEL_MS = 10_000
/** Bytes per second. A limit, because the guest and its neighbours use the same disk. */
const SPEED = 128 * 1024 * 1024

/** A flattening was stopped before its end. The copied data stays in the active layer, and nothing is lost. */
export class FlattenStopped extends Error {
  override readonly name = 'FlattenStopped'
}

/**
 * Copies the data of a disk's frozen layers into its active layer, so that the VM needs none of them any more. The guest
 * continues meanwhile. {@link stopFlattening} ends it early.
 *
 * @param onProgress called periodically with the progress, from 0 to 1
 * @throws FlattenStopped, QmpError, DeadlineExceeded: the chain is then unchanged
 */
export function flatten(vm: Vm, deadline: Deadline, onProgress?: (share: number) => void): Promise<void> {
  vm.flattening ??= stream(vm, deadline, onProgress).finally(() => {
    vm.flattening = null
  })
  return vm.flattening
}

/**
 * Stops a flattening, even one of an earlier agent process. Resolves when no job is left.
 * @returns whether there was one
 */
export async function stopFlattening(vm: Vm, deadline: Deadline): Promise<boolean> {
  const job = await findJob(vm, deadline)
  if (job) {
    // It may have ended by itself since; then there is nothing to cancel.
    await vm.qmp.execute('block-job-cancel', { device: JOB, force: true }, deadline).catch(() => undefined)
    await untilGone(vm, deadline)
  }
  const { flattening } = vm
  if (flattening !== null) await deadline.race(flattening.catch(() => undefined))
  return job !== undefined || flattening !== null
}

async function stream(vm: Vm, deadline: Deadline, onProgress?: (share: number) => void): Promise<void> {
  const { disk } = vm
  if (disk === null || disk.layers.length === 0) return
  let outcome = new Error('QEMU did not say how the flattening of a disk ended')
  let isComplete = false
  const stopListening = vm.qmp.onEvent(({ name, data }) => {
    if (data['device'] !== JOB) return
    isComplete = name === 'BLOCK_JOB_COMPLETED' && data['error'] === undefined
    if (name === 'BLOCK_JOB_CANCELLED') outcome = new FlattenStopped('flattening was stopped')
    if (typeof data['error'] === 'string') outcome = new Error(`QEMU could not flatten a disk: ${data['error']}`)
  })
  try {
    const job = { 'job-id': JOB, device: nodeOfLayer(disk.active), 'base-node': BAKE_NODE, speed: SPEED }
    await vm.qmp.execute('block-stream', job, deadline)
    await untilGone(vm, deadline, onProgress).catch(async (error: unknown) => {
      void vm.qmp
        .execute('block-job-cancel', { device: JOB, force: true }, Deadline.after(CANCEL_MS, 'a job'))
        .catch(() => undefined)
      throw error
    })
  } finally {
    stopListening()
  }
  if (!isComplete) throw outcome
  const flat = { active: disk.active, layers: [] }
  await noteFlat(vm, flat, deadline)
  vm.disk = flat
  // QEMU keeps the nodes of its command line. Top down: it deletes only a node that no other node uses.
  for (const id of disk.layers.toReversed()) {
    await vm.qmp.execute('blockdev-del', { 'node-name': nodeOfLayer(id) }, deadline)
  }
  await closeUnused(vm, deadline)
}

/** Closes inherited files that no node uses: while QEMU has a file open, its disk space is not freed. */
async function closeUnused({ qmp }: Vm, deadline: Deadline): Promise<void> {
  const nodes = await qmp.execute('query-named-block-nodes', { flat: true }, deadline)
  const used = new Set(nodes.map(({ file }) => file))
  const sets = await qmp.execute('query-fdsets', {}, deadline)
  for (const { 'fdset-id': id } of sets)
    if (!used.has(descriptorPath(id))) await qmp.execute('remove-fd', { 'fdset-id': id }, deadline)
}

/** Records the flat chain. A durable disk needs the copied layers until it is flushed, which a stop of the CPUs does. */
async function noteFlat(vm: Vm, flat: DiskChain, deadline: Deadline): Promise<void> {
  if (!vm.isDurable) return vm.recordDisk?.(flat)
  const { running } = await vm.qmp.execute('query-status', {}, deadline)
  await vm.qmp.execute('stop', {}, deadline)
  if (running) await vm.qmp.execute('cont', {}, deadline)
  await vm.recordDisk?.(flat)
}

async function untilGone(vm: Vm, deadline: Deadline, onProgress?: (share: number) => void): Promise<void> {
  for (;;) {
    const job = await findJob(vm, deadline)
    if (!job) return
    onProgress?.(job.len === 0 ? 0 : job.offset / job.len)
    await wait(POLL_MS)
  }
}

async function findJob({ qmp }: Vm, deadline: Deadline) {
  return (await qmp.execute('query-block-jobs', {}, deadline)).find(({ device }) => device === JOB)
}

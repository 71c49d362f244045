import { keepMergedLayer, readSourceDisk } from '../../store/builds/source-disk.ts'
import { giveToUser, makeVmFolder, removeTree } from '../../store/data-dir/folders.ts'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { validateLayer } from '../../machine/disks/validate-layer.ts'
import { createLayer } from '../../machine/disks/qcow2.ts'
import { VM_FOLDER } from '../../store/data-dir/data-dir.ts'
import { BakingSlot } from '../start/baking-slot.ts'
import { QEMU_LOG } from '../start/prepare-vm.ts'
import type { Host } from '../model/host.ts'
import { LOWER, ROOTFS } from '../../store/bakes/bake-files.ts'
import type { BakePlace } from '../../machine/bakes/bakes.ts'
import { channelFolder } from '../../machine/vm/channel.ts'
import { describeEnd, launch } from '../../machine/vm/launch.ts'
import { copierArguments, FIRST_FILE_FD } from '../../machine/vm/machine.ts'
import { explainFailure } from '../../machine/restore/restore.ts'
import { Vm } from '../../machine/vm/vm.ts'

/** MiB for a QEMU without a guest. */
const MEMORY_MIB = 128
const KILL_MS = 10_000
const JOB = 'extract'
const POLL_MS = 100
/** Bytes per second. A limit, because sandboxes use the same disk. */
const SPEED = 512 * 1024 * 1024

export interface ExtractDisk {
  /** The build's folder. The QEMU gets a folder in it. */
  readonly folder: string
  /** A folder with `rootfs.ext4` and the layers above it, named in their order. */
  readonly source: string
  /** The path of the merged layer. */
  readonly lower: string
  /** Called periodically with the progress, from 0 to 1. */
  readonly onProgress: (share: number) => void
}

/**
 * Merges the layers of a disk into one. A guest wrote these layers, so the agent does not parse them: a QEMU without a guest does,
 * under the user and the limits of a VM, as QEMU has parsed them all along.
 */
export async function extractDisk(host: Host, options: ExtractDisk, deadline: Deadline): Promise<void> {
  const { folder, source, lower } = options
  const release = await host.gates.admission.admit(MEMORY_MIB)
  const slot = new BakingSlot(host, MEMORY_MIB)
  const vmFolder = join(folder, VM_FOLDER)
  const made = join(vmFolder, LOWER)
  const below = { path: ROOTFS, format: 'raw' } as const
  try {
    const place = await slot.open()
    const { uid } = place.confinement
    await removeTree(vmFolder)
    const { files, bytes } = await readSourceDisk(source)
    await makeVmFolder(vmFolder, uid)
    await createLayer(made, { ...below, bytes }, deadline)
    await giveToUser(made, uid)
    await copy({ qemu: host.platform.qemus.current.path, files, vmFolder, place }, options, deadline)
    await validateLayer(made, below)
    await keepMergedLayer(made, lower, uid)
  } finally {
    await removeTree(vmFolder)
    await removeTree(channelFolder(vmFolder))
    await slot.release()
    release()
  }
}

interface Copy {
  readonly qemu: string
  /** The root file system, then the layers above it. */
  readonly files: readonly string[]
  readonly vmFolder: string
  readonly place: BakePlace
}

async function copy(
  { qemu, files, vmFolder, place: { confinement, limit } }: Copy,
  { folder, onProgress }: ExtractDisk,
  deadline: Deadline,
): Promise<void> {
  const logPath = join(folder, QEMU_LOG)
  const launched = await launch({
    qemu,
    args: copierArguments(
      files.map((_path, index) => FIRST_FILE_FD + index),
      LOWER,
    ),
    folder: vmFolder,
    logPath,
    // It emulates no CPU, and so needs no access to /dev/kvm.
    confinement: { uid: confinement.uid },
    tap: null,
    files,
    preload: null,
  })
  const vm = new Vm(vmFolder, launched, null)
  try {
    const died = vm.ended.then(async (end) => {
      throw await describeEnd(launched.log, end)
    })
    died.catch(() => undefined)
    await vm.qmp.ready(deadline)
    await limit?.(vm.process.pid)
    await Promise.race([died, stream(vm, onProgress, deadline)])
    await vm.qmp.execute('quit', {}, deadline)
    await deadline.race(vm.ended)
  } catch (error) {
    throw await explainFailure(vm, error)
  } finally {
    await vm.kill(Deadline.after(KILL_MS, 'end of a QEMU that copied a disk'))
  }
}

async function stream({ qmp }: Vm, onProgress: (share: number) => void, deadline: Deadline): Promise<void> {
  const over = Promise.withResolvers<void>()
  over.promise.catch(() => undefined)
  const stopListening = qmp.onEvent(({ name, data }) => {
    if (data['device'] !== JOB) return
    if (name === 'BLOCK_JOB_COMPLETED' && data['error'] === undefined) over.resolve()
    else if (typeof data['error'] === 'string') over.reject(new Error(`QEMU could not copy a disk: ${data['error']}`))
  })
  try {
    const names = { device: 'made', 'base-node': 'rootfs', 'backing-file': ROOTFS }
    await qmp.execute('block-stream', { 'job-id': JOB, ...names, speed: SPEED }, deadline)
    const ended = over.promise.then(() => true)
    ended.catch(() => undefined)
    while (!(await deadline.race(Promise.race([ended, wait(POLL_MS, false)])))) {
      const [job] = await qmp.execute('query-block-jobs', {}, deadline)
      if (job !== undefined && job.len > 0) onProgress(job.offset / job.len)
    }
  } finally {
    stopListening()
  }
}

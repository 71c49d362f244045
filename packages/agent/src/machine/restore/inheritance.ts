import type { FileHandle } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { memoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import { fileNodeOfLayer, fileOfLayer, nodeOfLayer, type LayerId } from '../../store/disks/layer-id.ts'
import type { Layers } from '../../store/disks/layers.ts'
import { JAIL_BAKE } from '../host/jail.ts'
import { openVhostNet } from '../host/vhost-net.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import type { Confinement } from '../vm/confinement.ts'
import type { InheritedFile } from '../vm/launch.ts'
import {
  BAKE_NODE,
  descriptorArguments,
  descriptorPath,
  FIRST_FILE_FD,
  INHERITED_MEMORY,
  machineArguments,
  type DiskNode,
  type Machine,
} from '../vm/machine.ts'
import type { VolumeDevice } from '../vm/volume-devices.ts'

export interface RestoredCheckpoint {
  /** Folder of the checkpoint; `null`: only a disk, without memory. */
  readonly folder: string | null
  /** The number of bases of its memory. */
  readonly bases: number
  /** The layers of its disk, the lowest first. */
  readonly layers: readonly LayerId[]
}

/** The machine and the files that a QEMU starts with. */
export interface Inheritance {
  readonly machine: Machine
  /** Folder of the bake. */
  readonly bake: string
  /** The checkpoint to restore over the bake; `null`: none, the guest starts as the template does. */
  readonly checkpoint: RestoredCheckpoint | null
  readonly layers: Pick<Layers, 'path'>
  /** See `DiskNode.isFlushed`. */
  readonly isDurable: boolean
  /** The guest's volumes, and devices for those that it had when the checkpoint was made. Paths are those of the agent. */
  readonly volumes: readonly VolumeDevice[]
  /** QEMU's working directory. The VM's user already owns it. */
  readonly folder: string
  readonly confinement: Confinement
}

/**
 * The files that QEMU inherits, and the command line and variables that name their descriptors.
 * @param vhost see {@link withVhostNet}
 */
export function inheritance(
  { machine, folder, confinement, checkpoint, layers, volumes, bake, isDurable: isFlushed }: Inheritance,
  disk: DiskChain,
  state: InheritedFile,
  vhost: FileHandle | null,
) {
  const { memory, disk: bakeDisk } = bakeFiles(bake)
  const laid = checkpoint?.folder == null ? [] : memoryFiles(checkpoint.folder, checkpoint.bases)
  const files: InheritedFile[] = [state, memory, ...laid.flatMap(({ pages, runs }) => [pages, runs])]
  const env = {
    GUEST_MEMORY_PATH: INHERITED_MEMORY,
    GUEST_MEMORY_FD: String(FIRST_FILE_FD + 1),
    ...(laid.length === 0 ? {} : { GUEST_LAYERS_FD: String(FIRST_FILE_FD + 2), GUEST_LAYERS: String(laid.length) }),
  }
  const isJailed = confinement.jail != null
  const bakePath = isJailed ? join(JAIL_BAKE, basename(bakeDisk)) : relative(folder, bakeDisk)
  const nodes: DiskNode[] = [{ name: BAKE_NODE, path: bakePath, isReadOnly: true, backing: null }]
  const descriptors: string[] = []
  const inherit = (file: InheritedFile): string => {
    const fd = FIRST_FILE_FD + files.push(file) - 1
    descriptors.push(...descriptorArguments(fd))
    return descriptorPath(fd)
  }
  for (const id of disk.layers) {
    nodes.push(layerNode(id, { path: inherit(layers.path(id)), isReadOnly: true }, nodes))
  }
  const fileNode = fileNodeOfLayer(disk.active)
  const active = { path: fileOfLayer(disk.active), isReadOnly: false, isFlushed, fileNode }
  nodes.push(layerNode(disk.active, active, nodes))
  const devices = volumes.map(({ path, ...device }) => {
    if (path === null) return { ...device, path }
    return { ...device, path: inherit(device.isReadOnly ? path : { writable: path }) }
  })
  const memoryFile = { path: INHERITED_MEMORY, isShared: false }
  const channels = isJailed ? 'inherited' : 'paths'
  const vhostFd = vhost === null ? null : FIRST_FILE_FD + files.push({ open: vhost }) - 1
  const args = machineArguments(machine, memoryFile, nodes, devices, channels, vhostFd)
  return { args: [...args, ...descriptors], files, env }
}

/** Calls `launching` with a descriptor of vhost-net if the machine uses it and the host offers it; otherwise with `null`. */
export async function withVhostNet<T>(
  { network, kvm }: Machine,
  launching: (vhost: FileHandle | null) => Promise<T>,
): Promise<T> {
  const vhost = network === 'tap' && kvm?.hasVhostNet === true ? await openVhostNet() : null
  try {
    return await launching(vhost)
  } finally {
    await vhost?.close()
  }
}

function layerNode(id: LayerId, file: Omit<DiskNode, 'name' | 'backing'>, below: readonly DiskNode[]): DiskNode {
  return { name: nodeOfLayer(id), ...file, backing: below.at(-1)?.name ?? null }
}

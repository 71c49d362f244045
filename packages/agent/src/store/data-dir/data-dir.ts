import { mkdir, readdir, realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'

/** Maximum bytes of a Unix socket's path, without its NUL (unix(7), sun_path). */
const MAX_SOCKET_PATH_BYTES = 107
/** The part of a VM's folder that QEMU's user may write. */
export const VM_FOLDER = 'vm'

/** The paths of an agent's files (ARCHITECTURE.md, "Files"). */
export class DataDir {
  readonly root: string
  readonly agentFile: string
  readonly acceleratorFile: string
  readonly earlierMachinesFile: string
  readonly spentCreditFile: string
  /** Whose control may delete here (`store/events/obeyed-cluster.ts`). */
  readonly clusterFile: string
  /** That the host has had a lease (`store/lease/host-lease.ts`). */
  readonly leaseFile: string
  readonly events: string
  readonly bakes: string
  /** Files of the accelerator's probe, while it runs. */
  readonly probe: string
  readonly sandboxes: string
  /** Restored guests without a sandbox, at the same depth as the sandboxes, which they become. */
  readonly spares: string
  readonly snapshots: string
  /** Frozen layers of disks. */
  readonly layers: string
  /** Layers that nothing seems to need any more. They are restored if something does (`store/disks/layers.ts`). */
  readonly retiredLayers: string
  /** Records of what an object store has (`store/objects/stored-files.ts`). */
  readonly objects: string
  /** Unfinished files from an object store. */
  readonly restoring: string
  readonly volumes: string
  /** Builds of templates, and their sources. */
  readonly builds: string
  /** Built templates: their images. */
  readonly templates: string
  /** Sandboxes that are being received from other hosts (`sandbox/moves/`). A start removes them. */
  readonly arrivals: string
  /** Discarded objects, and orphaned objects (`store/ledger/ledger.ts`). */
  readonly trash: string
  readonly quarantine: string
  /** Signs checkpoints. Only the agent can read it. */
  readonly checkpointKey: string
  /** A copy of the image builder's file: QEMU's users need not have access to the images. */
  readonly preload: string
  /** Roots of jails, by the version of QEMU in them (`jail.ts`). */
  readonly qemu: string

  private constructor(root: string) {
    this.root = root
    this.agentFile = join(root, 'agent.json')
    this.acceleratorFile = join(root, 'accelerator.json')
    this.earlierMachinesFile = join(root, 'earlier-machines.json')
    this.spentCreditFile = join(root, 'spent-credit.json')
    this.clusterFile = join(root, 'cluster.json')
    this.leaseFile = join(root, 'lease.json')
    this.events = join(root, 'events')
    this.bakes = join(root, 'bakes')
    this.probe = join(root, 'probe')
    this.sandboxes = join(root, 'sandboxes')
    this.spares = join(root, 'spares')
    this.snapshots = join(root, 'snapshots')
    this.layers = join(root, 'layers')
    this.retiredLayers = join(root, 'retired-layers')
    this.objects = join(root, 'objects')
    this.restoring = join(this.objects, 'restoring')
    this.volumes = join(root, 'volumes')
    this.builds = join(root, 'builds')
    this.templates = join(root, 'templates')
    this.arrivals = join(root, 'arrivals')
    this.trash = join(root, 'trash')
    this.quarantine = join(root, 'quarantine')
    this.checkpointKey = join(root, 'checkpoint.key')
    this.preload = join(root, 'guest-memory.so')
    this.qemu = join(root, 'qemu')
  }

  /** Creates missing folders. QEMU's users can pass through them (0711), and read nothing. */
  static async open(root: string): Promise<DataDir> {
    await mkdir(root, { recursive: true, mode: 0o711 })
    // The path as the kernel names it, for comparison with the working directories of running QEMUs.
    const dir = new DataDir(await realpath(root))
    for (const folder of [dir.bakes, dir.sandboxes, dir.spares, dir.volumes, dir.builds, dir.qemu])
      await mkdir(folder, { recursive: true, mode: 0o711 })
    for (const folder of [
      dir.events,
      dir.snapshots,
      dir.layers,
      dir.retiredLayers,
      dir.objects,
      dir.restoring,
      dir.templates,
      dir.arrivals,
      dir.trash,
      dir.quarantine,
    ])
      await mkdir(folder, { recursive: true, mode: 0o700 })
    return dir
  }

  /** Names of the folders of sandboxes. */
  async listSandboxes(): Promise<string[]> {
    return readdir(this.sandboxes)
  }

  sandbox(id: SandboxId): string {
    return join(this.sandboxes, id)
  }

  /**
   * The only part of a sandbox's folder that QEMU's user may write. Separate from manifest and log, because a user who may
   * write a folder can replace any file in it by a link, which the agent would follow as root.
   */
  vm(id: SandboxId): string {
    return join(this.sandbox(id), VM_FOLDER)
  }

  /** The checkpoint of a sandbox while it is hibernated. */
  hibernation(id: SandboxId): string {
    return join(this.sandbox(id), 'hibernation')
  }

  /** The files of that checkpoint that a woken sandbox keeps (`MemoryBases`). */
  memoryBase(id: SandboxId): string {
    return join(this.sandbox(id), 'memory-base')
  }

  /** The memory of its last capture that a running sandbox keeps (`Vm.memory`). */
  keptMemory(id: SandboxId): string {
    return join(this.sandbox(id), 'kept-memory')
  }
}

/** The path of a socket, relative to the agent's working directory if the absolute one is too long. */
export function socketPath(folder: string, name: string): string {
  const path = join(folder, name)
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES ? path : relative(process.cwd(), path)
}

import { mkdir, readdir, realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { SandboxId } from '@offshoot/contract/ids'

/** Bytes of a Unix socket's path, without its NUL (unix(7), sun_path). */
const MAX_SOCKET_PATH_BYTES = 107
/** QEMU's own part of a VM's folder. */
export const VM_FOLDER = 'vm'

/** Where everything of one agent lies (ARCHITECTURE.md, "Files"). */
export class DataDir {
  readonly root: string
  readonly agentFile: string
  readonly acceleratorFile: string
  readonly earlierMachinesFile: string
  readonly spentCreditFile: string
  readonly events: string
  readonly bakes: string
  /** What the probe of the accelerator bakes and restores, while it runs. */
  readonly probe: string
  readonly sandboxes: string
  /** Restored guests that are nobody's yet; as deep as the sandboxes, whose place they take. */
  readonly spares: string
  readonly snapshots: string
  /** Frozen layers of disks. */
  readonly layers: string
  /** Layers that nothing seems to need any more; they come back when something does (`store/disks/layers.ts`). */
  readonly retiredLayers: string
  readonly volumes: string
  /** Builds of templates, and what they are made from. */
  readonly builds: string
  /** Built templates: their images. */
  readonly templates: string
  /** Objects that were discarded, and those that nobody accounts for (`store/ledger/ledger.ts`). */
  readonly trash: string
  readonly quarantine: string
  /** Signs checkpoints; ours alone. */
  readonly checkpointKey: string
  /** A copy of the image builder's: QEMU's users need not reach the images. */
  readonly preload: string
  /** Roots of jails, by the version of QEMU in them (`jail.ts`). */
  readonly qemu: string

  private constructor(root: string) {
    this.root = root
    this.agentFile = join(root, 'agent.json')
    this.acceleratorFile = join(root, 'accelerator.json')
    this.earlierMachinesFile = join(root, 'earlier-machines.json')
    this.spentCreditFile = join(root, 'spent-credit.json')
    this.events = join(root, 'events')
    this.bakes = join(root, 'bakes')
    this.probe = join(root, 'probe')
    this.sandboxes = join(root, 'sandboxes')
    this.spares = join(root, 'spares')
    this.snapshots = join(root, 'snapshots')
    this.layers = join(root, 'layers')
    this.retiredLayers = join(root, 'retired-layers')
    this.volumes = join(root, 'volumes')
    this.builds = join(root, 'builds')
    this.templates = join(root, 'templates')
    this.trash = join(root, 'trash')
    this.quarantine = join(root, 'quarantine')
    this.checkpointKey = join(root, 'checkpoint.key')
    this.preload = join(root, 'guest-memory.so')
    this.qemu = join(root, 'qemu')
  }

  /** Makes what is missing. QEMU's users pass through (0711) and read nothing. */
  static async open(root: string): Promise<DataDir> {
    await mkdir(root, { recursive: true, mode: 0o711 })
    // As the kernel names it: the working directories of live QEMUs are compared with it.
    const dir = new DataDir(await realpath(root))
    for (const folder of [dir.bakes, dir.sandboxes, dir.spares, dir.volumes, dir.builds, dir.qemu])
      await mkdir(folder, { recursive: true, mode: 0o711 })
    for (const folder of [
      dir.events,
      dir.snapshots,
      dir.layers,
      dir.retiredLayers,
      dir.templates,
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
   * QEMU's own part of a sandbox's folder, the only place where it may write. Apart from the manifest and the log:
   * whoever may write a folder can put a link in the place of any file in it, and we would follow it as root.
   */
  vm(id: SandboxId): string {
    return join(this.sandbox(id), VM_FOLDER)
  }

  /** The checkpoint of a sandbox while it is hibernated. */
  hibernation(id: SandboxId): string {
    return join(this.sandbox(id), 'hibernation')
  }

  /** What a sandbox that was woken keeps of that checkpoint (`MemoryBases`). */
  memoryBase(id: SandboxId): string {
    return join(this.sandbox(id), 'memory-base')
  }
}

/** The path of a socket, relative to our own working directory where the absolute one does not fit. */
export function socketPath(folder: string, name: string): string {
  const path = join(folder, name)
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES ? path : relative(process.cwd(), path)
}

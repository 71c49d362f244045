/** The commands we use, as QEMU's own schema (qapi/*.json) types them; this list is the whole of what we may send. */
export interface Commands {
  readonly stop: { arguments: NoArguments; return: object }
  readonly cont: { arguments: NoArguments; return: object }
  readonly quit: { arguments: NoArguments; return: object }
  readonly 'query-status': { arguments: NoArguments; return: { status: string; running: boolean } }
  /** Writes the state of every device, without memory, to a path as QEMU sees it. */
  readonly 'xen-save-devices-state': { arguments: { filename: string; live: boolean }; return: object }
  readonly 'blockdev-add': { arguments: BlockdevOptions; return: object }
  /** Gives a node that is there other options, all of them anew: another backing. */
  readonly 'blockdev-reopen': { arguments: { options: readonly [ReopenOptions] }; return: object }
  readonly 'blockdev-del': { arguments: { 'node-name': string }; return: object }
  /** In bytes; the guest is told. */
  readonly block_resize: { arguments: { 'node-name': string; size: number }; return: object }
  /** Puts `overlay`, which has no backing yet, on top of `node`, which becomes read-only. */
  readonly 'blockdev-snapshot': { arguments: { node: string; overlay: string }; return: object }
  /** Devices with the nodes below them, the top one first. */
  readonly 'query-blockstats': { arguments: NoArguments; return: readonly BlockStats[] }
  /** Copies what lies between `base-node` and `device` into `device`, in the background; speed in bytes a second. */
  readonly 'block-stream': {
    arguments: { 'job-id': string; device: string; 'base-node': string; 'backing-file'?: string; speed: number }
    return: object
  }
  readonly 'block-job-cancel': { arguments: { device: string; force: boolean }; return: object }
  /** Files given on the command line. */
  readonly 'query-fdsets': { arguments: NoArguments; return: readonly FdSet[] }
  /** Closes it once nothing uses it. */
  readonly 'remove-fd': { arguments: { 'fdset-id': number }; return: object }
  readonly 'query-block-jobs': { arguments: NoArguments; return: readonly BlockJob[] }
  /** CPU models that `-cpu` takes, under the accelerator that this QEMU runs with. */
  readonly 'query-cpu-definitions': { arguments: NoArguments; return: readonly CpuDefinition[] }
}

export type CommandName = keyof Commands
type NoArguments = Readonly<Record<string, never>>

interface BlockdevOptions {
  readonly driver: 'qcow2'
  readonly 'node-name': string
  readonly file: { readonly driver: 'file'; readonly filename: string }
  readonly cache: { readonly 'no-flush': boolean }
  /** Absent: what the guest discards is ignored. */
  readonly discard?: 'unmap'
  readonly 'read-only'?: boolean
  /** A node that is there; `null`: none. */
  readonly backing: string | null
}

interface ReopenOptions extends Omit<BlockdevOptions, 'file'> {
  /** Name of its file's node. */
  readonly file: string
}

interface BlockStats {
  readonly 'node-name'?: string
  readonly backing?: BlockStats
}

interface FdSet {
  readonly 'fdset-id': number
  readonly fds: readonly { readonly fd: number; readonly opaque?: string }[]
}

export interface CpuDefinition {
  readonly name: string
  /** What the model has and the host cannot give; absent where the accelerator does not know. */
  readonly 'unavailable-features'?: readonly string[]
}

interface BlockJob {
  /** The job's id. */
  readonly device: string
  readonly type: string
  /** Bytes. */
  readonly len: number
  readonly offset: number
}

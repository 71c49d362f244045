/** All QMP commands that the agent may send, typed as in QEMU's schema (qapi/*.json). */
export interface Commands {
  readonly stop: { arguments: NoArguments; return: object }
  readonly cont: { arguments: NoArguments; return: object }
  readonly quit: { arguments: NoArguments; return: object }
  readonly 'query-status': { arguments: NoArguments; return: { status: string; running: boolean } }
  /** Writes the state of every device, without memory, to a path in QEMU's file system. */
  readonly 'xen-save-devices-state': { arguments: { filename: string; live: boolean }; return: object }
  /** Loads such a state, while the CPUs are stopped. */
  readonly 'xen-load-devices-state': { arguments: { filename: string }; return: object }
  /** Changes a property of an object, for example the node that a disk device reads and writes. */
  readonly 'qom-set': { arguments: { path: string; property: string; value: string }; return: object }
  readonly 'blockdev-add': { arguments: BlockdevOptions | FileOptions; return: object }
  /** Changes a node, for another backing file. The command sets all options: one that is left out gets its default. */
  readonly 'blockdev-reopen': { arguments: { options: readonly [ReopenOptions] }; return: object }
  readonly 'blockdev-del': { arguments: { 'node-name': string }; return: object }
  /** Sets the size of a device in bytes; QEMU notifies the guest. */
  readonly block_resize: { arguments: { 'node-name': string; size: number }; return: object }
  /** Puts `overlay`, which has no backing yet, on top of `node`, which becomes read-only. */
  readonly 'blockdev-snapshot': { arguments: { node: string; overlay: string }; return: object }
  /** Lists devices with their chain of nodes, the top one first. */
  readonly 'query-blockstats': { arguments: NoArguments; return: readonly BlockStats[] }
  /** Lists all nodes. `flat`: without the nodes below each. */
  readonly 'query-named-block-nodes': { arguments: { flat: boolean }; return: readonly { readonly file: string }[] }
  /** Limits one device, named by its path. Devices of one group share the limits. 0: no limit. */
  readonly block_set_io_throttle: { arguments: IoThrottle; return: object }
  /**
   * Copies the data of all layers between `base-node` and `device` into `device`, in the background. `speed` is in
   * bytes per second.
   */
  readonly 'block-stream': {
    arguments: { 'job-id': string; device: string; 'base-node': string; 'backing-file'?: string; speed: number }
    return: object
  }
  readonly 'block-job-cancel': { arguments: { device: string; force: boolean }; return: object }
  /** Lists file descriptors that QEMU got on its command line. */
  readonly 'query-fdsets': { arguments: NoArguments; return: readonly FdSet[] }
  /** Closes a set of file descriptors when no node uses it any more. */
  readonly 'remove-fd': { arguments: { 'fdset-id': number }; return: object }
  readonly 'query-block-jobs': { arguments: NoArguments; return: readonly BlockJob[] }
  /** Lists CPU models for `-cpu`, with the accelerator of this QEMU. */
  readonly 'query-cpu-definitions': { arguments: NoArguments; return: readonly CpuDefinition[] }
}

export type CommandName = keyof Commands
type NoArguments = Readonly<Record<string, never>>

interface BlockdevOptions {
  readonly driver: 'qcow2'
  readonly 'node-name': string
  readonly file: { readonly driver: 'file'; readonly filename: string; readonly 'node-name'?: string }
  readonly cache: { readonly 'no-flush': boolean }
  /** Default: QEMU ignores discards of the guest. */
  readonly discard?: 'unmap'
  readonly 'read-only'?: boolean
  /** Name of an existing node; `null`: no backing file. */
  readonly backing: string | null
}

/** A node without a format. */
interface FileOptions {
  readonly driver: 'file'
  readonly filename: string
  readonly 'node-name': string
  readonly 'read-only': boolean
}

interface ReopenOptions extends Omit<BlockdevOptions, 'file'> {
  /** Node name of the underlying file. */
  readonly file: string
}

/** Bytes and operations a second: of both directions together, of reads (`_rd`), of writes (`_wr`). */
interface IoThrottle {
  readonly id: string
  readonly group: string
  readonly bps: number
  readonly bps_rd: number
  readonly bps_wr: number
  readonly iops: number
  readonly iops_rd: number
  readonly iops_wr: number
}

interface BlockStats {
  readonly 'node-name'?: string
  /** Path of the device that uses it. */
  readonly qdev?: string
  readonly backing?: BlockStats
}

interface FdSet {
  readonly 'fdset-id': number
  readonly fds: readonly { readonly fd: number }[]
}

export interface CpuDefinition {
  readonly name: string
  /** Features of the model that the host does not have. Absent when the accelerator cannot tell. */
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

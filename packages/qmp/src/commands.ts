/** The commands we use, as QEMU's own schema (qapi/*.json) types them; this list is the whole of what we may send. */
export interface Commands {
  readonly stop: { arguments: NoArguments; return: object }
  readonly cont: { arguments: NoArguments; return: object }
  readonly quit: { arguments: NoArguments; return: object }
  readonly 'query-status': { arguments: NoArguments; return: { status: string; running: boolean } }
  /** Writes the state of every device, without memory, to a path as QEMU sees it. */
  readonly 'xen-save-devices-state': { arguments: { filename: string; live: boolean }; return: object }
}

export type CommandName = keyof Commands
type NoArguments = Readonly<Record<string, never>>

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentInfo, AgentSandbox } from '@offshoot/contract/agent-api'
import type { VmProcess } from '../machine/host/find-vm-processes.ts'
import { openDescriptors } from '../machine/vm/open-descriptors.ts'
import { type AgentProcess, eventually } from './agent-process.ts'

/** Namespaces that every VM has of its own. */
export const NAMESPACES = ['mnt', 'net', 'ipc', 'uts', 'pid']
/** The creates after which a template gets a zygote. */
const CREATES = 3

/** The zygote of an agent's only popular template, and its copies. */
export class ZygoteCopies {
  readonly #agent: AgentProcess
  readonly #template: string | undefined

  constructor(agent: AgentProcess, template?: string) {
    this.#agent = agent
    this.#template = template
  }

  /** Creates sandboxes until there is a zygote, and one copy of it waits. */
  async make(): Promise<void> {
    for (let i = 0; i < CREATES; i++) await this.#agent.delete((await this.#agent.created({}, this.#template)).id)
    await this.wait()
  }

  /** Waits until every spare is a copy, and there is one at least. */
  async wait(): Promise<void> {
    await eventually('a copy of a zygote', async () => {
      const waiting = (await this.parts()).copies.filter(({ folder }) => folder.includes('/spares/'))
      const others =
        (await this.#agent.vms()).filter(({ folder }) => folder.includes('/spares/')).length - waiting.length
      // The zygote itself is one of them.
      return others === 1 && waiting.length > 0 && (await this.spares()) === waiting.length
    }).catch((error: unknown) => {
      throw new Error(this.#agent.log.slice(-4000), { cause: error })
    })
  }

  async spares(): Promise<number> {
    return (await this.#agent.call<AgentInfo>('GET', '/v1/agent', { workspace: null })).body.spares
  }

  /** A zygote and its copies have other command lines than other VMs. */
  async parts(): Promise<{ zygote: VmProcess | undefined; copies: VmProcess[] }> {
    const all = await Promise.all((await this.#agent.vms()).map(async (vm) => ({ vm, line: await commandLine(vm) })))
    return {
      zygote: all.find(({ line }) => line.includes('--makes-children'))?.vm,
      copies: all.flatMap(({ vm, line }) => (line.includes('--zygote') ? [vm] : [])),
    }
  }

  async zygote(): Promise<VmProcess> {
    const { zygote } = await this.parts()
    if (zygote === undefined) throw new Error('there is no zygote')
    return zygote
  }

  /** A sandbox that is a copy. */
  async taken(env: Record<string, string> = {}): Promise<AgentSandbox> {
    await this.wait()
    const sandbox = await this.#agent.created(env, this.#template)
    const copies = new Set((await this.parts()).copies.map(({ folder }) => folder))
    if (sandbox.boot_mode !== 'pool' || !copies.has(this.folderOf(sandbox))) throw new Error('the sandbox is no copy')
    return sandbox
  }

  /** Whether a copy continues the sandbox's checkpoint. */
  async isContinued(sandbox: Pick<AgentSandbox, 'id'>): Promise<boolean> {
    return (await commandLine(await this.processOf(sandbox))).includes('--continue')
  }

  /** The inodes of the files that a VM may write, without devices and what has no file. */
  async writableInodes({ process }: VmProcess): Promise<number[]> {
    const open = await openDescriptors(process)
    return open.flatMap(({ inode, isWritable, name }) =>
      isWritable && !name.startsWith('anon_inode') && !name.startsWith('/dev/') ? [inode] : [],
    )
  }

  folderOf({ id }: Pick<AgentSandbox, 'id'>): string {
    return join(this.#agent.dataDir, 'sandboxes', id, 'vm')
  }

  async processOf(sandbox: Pick<AgentSandbox, 'id'>): Promise<VmProcess> {
    const found = (await this.#agent.vms()).find(({ folder }) => folder === this.folderOf(sandbox))
    if (found === undefined) throw new Error('the sandbox has no VM')
    return found
  }
}

async function commandLine({ launcher, process: { pid } }: VmProcess): Promise<string[]> {
  return (await readFile(`/proc/${launcher?.pid ?? pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
}

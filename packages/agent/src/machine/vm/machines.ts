import type { Accelerator } from '@offshoot/contract/agent-api'
import type { Machine, NetworkKind } from './machine.ts'

/** The machines that this host gives its guests; known once its accelerator has been chosen. */
export class Machines {
  #host: Pick<Machine, 'accelerator' | 'tscKhz' | 'network'> | undefined

  choose(accelerator: Accelerator, tscKhz: number, network: NetworkKind): void {
    this.#host = { accelerator, tscKhz, network }
  }

  /** For a guest of this size, whether it is booted or restored. @throws Error when nothing has been chosen */
  readonly of = ({ cpu, memory_mb }: { readonly cpu: number; readonly memory_mb: number }): Machine => {
    if (this.#host === undefined) throw new Error('this host has no accelerator yet')
    return { ...this.#host, vcpus: cpu, memoryMib: memory_mb }
  }
}

import type { Accelerator } from '@offshoot/contract/agent-api'
import type { Machine } from './machine.ts'

/** The machines that this host gives its guests; known once its accelerator has been chosen. */
export class Machines {
  #host: { readonly accelerator: Accelerator; readonly tscKhz: number } | undefined

  choose(accelerator: Accelerator, tscKhz: number): void {
    this.#host = { accelerator, tscKhz }
  }

  /** For a guest of this size, whether it is booted or restored. @throws Error when nothing has been chosen */
  readonly of = ({ cpu, memory_mb }: { readonly cpu: number; readonly memory_mb: number }): Machine => {
    if (this.#host === undefined) throw new Error('this host has no accelerator yet')
    return { ...this.#host, vcpus: cpu, memoryMib: memory_mb }
  }
}

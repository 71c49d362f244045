import type { Confinement } from './confinement.ts'
import type { Machine } from './machine.ts'

/** What the machines of all guests of a host have in common. */
type HostMachine = Omit<Machine, 'vcpus' | 'memoryMib'>

/** The machines of this host's guests. Known once the agent has chosen its accelerator. */
export class Machines {
  #host: HostMachine | undefined
  #kvmGroup: number | null = null

  /** @param kvmGroup see `Confinement.kvmGroup`; `null` under TCG */
  choose(host: HostMachine, kvmGroup: number | null): void {
    this.#host = host
    this.#kvmGroup = kvmGroup
  }

  /** The confinement of VM processes under the user of a slot. */
  confinement(uid: number | null): Confinement {
    return { uid, kvmGroup: this.#kvmGroup }
  }

  /** The machine of a guest of this size, for a boot or a restore. @throws Error before an accelerator was chosen */
  readonly of = ({ cpu, memory_mb }: { readonly cpu: number; readonly memory_mb: number }): Machine => {
    if (this.#host === undefined) throw new Error('this host has no accelerator yet')
    return { ...this.#host, vcpus: cpu, memoryMib: memory_mb }
  }
}

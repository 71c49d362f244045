import type { Confinement } from './confinement.ts'
import type { Machine } from './machine.ts'

/** The machines that this host gives its guests; known once its accelerator has been chosen. */
export class Machines {
  #host: Pick<Machine, 'accelerator' | 'tscKhz' | 'network' | 'kvm'> | undefined
  #kvmGroup: number | null = null

  /** @param kvmGroup see `Confinement.kvmGroup`; `null` under TCG */
  choose(host: Pick<Machine, 'accelerator' | 'tscKhz' | 'network' | 'kvm'>, kvmGroup: number | null): void {
    this.#host = host
    this.#kvmGroup = kvmGroup
  }

  /** What the processes of VMs may be, each with the user of its slot. */
  confinement(uid: number | null): Confinement {
    return { uid, kvmGroup: this.#kvmGroup }
  }

  /** For a guest of this size, whether it is booted or restored. @throws Error when nothing has been chosen */
  readonly of = ({ cpu, memory_mb }: { readonly cpu: number; readonly memory_mb: number }): Machine => {
    if (this.#host === undefined) throw new Error('this host has no accelerator yet')
    return { ...this.#host, vcpus: cpu, memoryMib: memory_mb }
  }
}

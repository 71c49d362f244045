import { Deadline } from '@offshoot/kit/deadline'
import { guestDeadline } from './guest-access.ts'
import type { Sandbox } from './sandbox.ts'
import type { Vm } from '../../machine/vm/vm.ts'

/** Milliseconds for a guest to answer, and between two questions: after an answer, and after none. */
const ANSWER_MS = 1000
const AGAIN_MS = 10_000
const SILENT_MS = 60_000
const MIB = 1024 * 1024

/**
 * Asks one sandbox's guest how much memory it uses: rarely, with a short deadline, and only while it runs and is not being
 * stopped. A guest can report any number, so an answer above the guest's memory counts as none.
 */
export class GuestMemoryQuestion {
  #againAtMs = Number.NEGATIVE_INFINITY
  #asking: Promise<number | null> | null = null

  /** Concurrent callers share one question. @returns bytes; `null` if the guest was not asked, or gave no possible answer */
  async ask({ vm, manifest, stopping, leaving }: Sandbox): Promise<number | null> {
    if (vm === null || manifest.status !== 'running' || stopping !== undefined || leaving.signal.aborted) return null
    if (this.#asking === null && performance.now() < this.#againAtMs) return null
    this.#asking ??= this.#askNow(vm, manifest.memory_mb).finally(() => (this.#asking = null))
    return this.#asking
  }

  async #askNow(vm: Vm, memoryMib: number): Promise<number | null> {
    const bytes = await usedBytes(vm, memoryMib)
    this.#againAtMs = performance.now() + (bytes === null ? SILENT_MS : AGAIN_MS)
    return bytes
  }
}

/** `null` if the guest did not answer in time, does not know the question, or gave an impossible answer. */
async function usedBytes(vm: Vm, memoryMib: number): Promise<number | null> {
  const deadline = Deadline.after(ANSWER_MS, 'memory of a guest')
  // A longer deadline, because other callers share a new link and wait longer for it.
  const link = vm.link(guestDeadline('link for the memory of a guest'))
  try {
    const { totalBytes, availableBytes } = await deadline.race(link.then((made) => made.memory(deadline)))
    const isPossible = availableBytes <= totalBytes && totalBytes <= memoryMib * MIB
    return isPossible ? totalBytes - availableBytes : null
  } catch {
    return null
  }
}

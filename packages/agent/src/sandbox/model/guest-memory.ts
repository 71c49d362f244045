import { Deadline } from '@offshoot/kit/deadline'
import { guestDeadline } from './guest-access.ts'
import type { Sandbox } from './sandbox.ts'
import type { Vm } from '../../machine/vm/vm.ts'

/** Milliseconds for a guest to say what memory it uses, and between two questions: after an answer, and after none. */
const ANSWER_MS = 1000
const AGAIN_MS = 10_000
const SILENT_MS = 60_000
const MIB = 1024 * 1024

/**
 * Asks one sandbox's guest what memory it uses: only one that runs and is not about to be stopped, seldom, and never for long.
 * The answer is the guest's own matter, so it is bounded by the memory that the guest was given.
 */
export class GuestMemoryQuestion {
  #againAtMs = Number.NEGATIVE_INFINITY
  #asking: Promise<number | null> | null = null

  /** Those who come at the same time share one question. @returns bytes; `null`: it was not asked, or gave no answer that can be */
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

/** `null`: the guest did not answer in time, is older than the question, or says what cannot be. */
async function usedBytes(vm: Vm, memoryMib: number): Promise<number | null> {
  const deadline = Deadline.after(ANSWER_MS, 'memory of a guest')
  // A link that has to be made anew is shared with whoever needs it, who would wait for longer.
  const link = vm.link(guestDeadline('link for the memory of a guest'))
  try {
    const { totalBytes, availableBytes } = await deadline.race(link.then((made) => made.memory(deadline)))
    const isPossible = availableBytes <= totalBytes && totalBytes <= memoryMib * MIB
    return isPossible ? totalBytes - availableBytes : null
  } catch {
    return null
  }
}

import type { Deadline } from '@offshoot/kit/deadline'

/** Commands wait here while the guest's processes are held: it would refuse them. */
export class HoldGate {
  #released: PromiseWithResolvers<void> | undefined

  shut(): void {
    this.#released ??= Promise.withResolvers()
  }

  open(): void {
    this.#released?.resolve()
    this.#released = undefined
  }

  /** @throws DeadlineExceeded */
  async pass(deadline: Deadline | undefined): Promise<void> {
    const released = this.#released?.promise
    if (released !== undefined) await (deadline === undefined ? released : deadline.race(released))
  }
}

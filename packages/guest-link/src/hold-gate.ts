import type { Deadline } from '@offshoot/kit/deadline'

/** Commands wait here while the guest's processes are held: it would refuse them. */
export class HoldGate {
  readonly #onOpen: () => void
  #released: PromiseWithResolvers<void> | undefined

  constructor(onOpen: () => void) {
    this.#onOpen = onOpen
  }

  shut(): void {
    this.#released ??= Promise.withResolvers()
  }

  open(): void {
    this.#released?.resolve()
    this.#released = undefined
    this.#onOpen()
  }

  /** @throws DeadlineExceeded */
  async pass(deadline: Deadline | undefined): Promise<void> {
    const released = this.#released?.promise
    if (released !== undefined) await (deadline === undefined ? released : deadline.race(released))
  }
}

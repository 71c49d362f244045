import type { Deadline } from '@offshoot/kit/deadline'
import type { Thread } from './thread.ts'

/**
 * Gives a copying thread to one capture at a time, before the capture stops its guest: no guest is stopped while another
 * one is copied.
 */
export class CopyLane {
  readonly #thread: Pick<Thread, 'ask' | 'idle'>
  #last: Promise<void> = Promise.resolve()

  constructor(thread: Pick<Thread, 'ask' | 'idle'>) {
    this.#thread = thread
  }

  /** Runs captures in order of arrival. @throws DeadlineExceeded also while it waits; errors of `capture` */
  async use<T>(capture: (thread: Pick<Thread, 'ask'>) => Promise<T>, deadline: Deadline): Promise<T> {
    const before = this.#last
    const { promise: over, resolve } = Promise.withResolvers<void>()
    this.#last = before.then(() => over)
    try {
      await deadline.race(before)
      // The copy continues after the deadline of its capture.
      await deadline.race(this.#thread.idle())
      return await capture(this.#thread)
    } finally {
      resolve()
    }
  }
}

import type { Deadline } from '@offshoot/kit/deadline'
import type { Thread } from './thread.ts'

/**
 * Gives a thread that copies memory to one capture at a time, before the capture stops its guest: no guest stands still
 * while it waits for the copy of another.
 */
export class CopyLane {
  readonly #thread: Pick<Thread, 'ask' | 'idle'>
  #last: Promise<void> = Promise.resolve()

  constructor(thread: Pick<Thread, 'ask' | 'idle'>) {
    this.#thread = thread
  }

  /** In order of arrival. @throws DeadlineExceeded also while it waits; what `capture` throws */
  async use<T>(capture: (thread: Pick<Thread, 'ask'>) => Promise<T>, deadline: Deadline): Promise<T> {
    const before = this.#last
    const { promise: over, resolve } = Promise.withResolvers<void>()
    this.#last = before.then(() => over)
    try {
      await deadline.race(before)
      // A capture whose deadline has passed leaves the thread with its copy.
      await deadline.race(this.#thread.idle())
      return await capture(this.#thread)
    } finally {
      resolve()
    }
  }
}

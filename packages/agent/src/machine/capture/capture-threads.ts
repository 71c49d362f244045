import { CopyLane } from './copy-lane.ts'
import { Thread } from './thread.ts'

/** The threads that copy the memory of guests, for the whole life of an agent. */
export class CaptureThreads {
  readonly #saver = new Thread()
  /** Copies the memory of guests that go on: forks and snapshots. */
  readonly saving = new CopyLane(this.#saver)
  /** Copies the memory of guests that are to end: no fork waits for the copy of a large one. */
  readonly savingToEnd = new CopyLane(new Thread())
  /** Helps {@link saving} with large guests; the first of them starts it. */
  readonly savingBeside = new Thread()

  /** So that the first fork need not wait for its thread to start. */
  start(): void {
    this.#saver.start()
  }
}

import { CopyLane } from './copy-lane.ts'
import { Thread } from './thread.ts'

/** The threads that copy guests' memory. They exist as long as the agent. */
export class CaptureThreads {
  readonly #saver = new Thread()
  /** Copies the memory of guests that continue afterwards: forks and snapshots. */
  readonly saving = new CopyLane(this.#saver)
  /** Copies the memory of guests that end afterwards. A separate thread, so that no fork waits for the copy of a large guest. */
  readonly savingToEnd = new CopyLane(new Thread())
  /** Helps {@link saving} with large guests. Started by the first of them. */
  readonly savingBeside = new Thread()

  /** Starts the thread for forks, so that the first fork need not wait for it. */
  start(): void {
    this.#saver.start()
  }
}

/** State of an object at one moment. `alive`: a sandbox with a VM, which does not survive a power cut. */
export interface State {
  readonly is: 'absent' | 'alive' | 'hibernated' | 'there'
  /** Content of its file. */
  readonly content?: string
  /** Volumes only. */
  readonly sizeMb?: number
  /** Durable sandboxes only: the files in its archive. */
  readonly archived?: readonly string[]
}

interface Step {
  readonly state: State
  /** Positions in the disk's write log at the start of the operation, and after its answer. */
  readonly beganAt: number
  endedAt: number
}

export type Kind = 'sandbox' | 'durable' | 'snapshot' | 'volume'

/** The history of operations on one object, from which follow the states that a power cut may leave. */
export class OperationHistory {
  readonly id: string
  readonly kind: Kind
  readonly #steps: Step[] = [{ state: { is: 'absent' }, beganAt: -1, endedAt: -1 }]

  constructor(kind: Kind, id: string) {
    this.kind = kind
    this.id = id
  }

  get now(): State {
    return this.#steps.at(-1)?.state ?? { is: 'absent' }
  }

  /** Performs an operation. @param position returns the current position in the write log */
  async change(change: Partial<State>, position: () => number, act: () => Promise<unknown>): Promise<void> {
    const step: Step = {
      state: { ...this.now, ...change },
      beganAt: position(),
      endedAt: Number.POSITIVE_INFINITY,
    }
    this.#steps.push(step)
    await act()
    step.endedAt = position()
  }

  /** Log positions at which its operations were answered. */
  get answeredAt(): number[] {
    return this.#steps.map(({ endedAt }) => endedAt).filter((at) => at > 0 && Number.isFinite(at))
  }

  /** The last acknowledged state at that position, and the states of operations in progress. */
  possibleAt(position: number): State[] {
    const last = this.#steps.findLastIndex(({ endedAt }) => endedAt <= position)
    return this.#steps
      .slice(last)
      .filter(({ beganAt }) => beganAt < position)
      .map(({ state }) => state)
  }
}

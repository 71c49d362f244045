/** The state of an object in one moment. `alive`: a sandbox with a VM, which no power cut leaves. */
export interface State {
  readonly is: 'absent' | 'alive' | 'hibernated' | 'there'
  /** What its file holds. */
  readonly content?: string
  /** Of a volume. */
  readonly sizeMb?: number
  /** Of a durable sandbox: what its archive holds. */
  readonly archived?: readonly string[]
}

interface Step {
  readonly state: State
  /** Positions of the log when the operation began, and when it had been answered. */
  readonly beganAt: number
  endedAt: number
}

export type Kind = 'sandbox' | 'durable' | 'snapshot' | 'volume'

/** What was asked of one object, and when: from it follows what a power cut may leave of the object. */
export class Acknowledged {
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

  /** Changes the object. @param position of the log, now */
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

  /** The moments in which its operations were answered. */
  get answeredAt(): number[] {
    return this.#steps.map(({ endedAt }) => endedAt).filter((at) => at > 0 && Number.isFinite(at))
  }

  /** The last state that was acknowledged by then, and those that were being made. */
  possibleAt(position: number): State[] {
    const last = this.#steps.findLastIndex(({ endedAt }) => endedAt <= position)
    return this.#steps
      .slice(last)
      .filter(({ beganAt }) => beganAt < position)
      .map(({ state }) => state)
  }
}

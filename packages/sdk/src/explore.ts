import { OffshootError, TimeoutError } from './http/errors.ts'
import { startDeadline } from './http/deadline.ts'
import type { Sandbox } from './sandboxes/sandbox.ts'

/** One idea to try. It runs in a fork of its own. */
export interface Branch<T> {
  /** Appears in the result. */
  readonly name: string
  /** Tries the idea. Hand `signal` to every call: it aborts when the search ends first. */
  readonly run: (sandbox: Sandbox, signal: AbortSignal) => Promise<T>
}

export interface ExploreOptions<T> {
  /** Rates the value of a branch; the highest score wins. `null`: the branch must not win. */
  readonly score: (
    value: T,
    branch: { readonly name: string; readonly sandbox: Sandbox },
  ) => number | null | Promise<number | null>
  /** Branches that run at the same time, at least 1. Default: 4. */
  readonly concurrency?: number | undefined
  /** A score that is good enough: it ends the search. Default: all branches run. */
  readonly stopAt?: number | undefined
  /** Limits of the search. Branches that have not begun by then are skipped, those that run are cancelled. */
  readonly budget?: { readonly timeMs?: number | undefined; readonly forks?: number | undefined } | undefined
  /** Ends the search with its reason. All forks are deleted. */
  readonly signal?: AbortSignal | undefined
}

/** What became of a branch. */
export type Outcome<T> =
  | { readonly name: string; readonly outcome: 'scored'; readonly score: number | null; readonly value: T }
  | { readonly name: string; readonly outcome: 'failed'; readonly error: unknown }
  /** It ran when the search ended. */
  | { readonly name: string; readonly outcome: 'cancelled' }
  /** The search ended before it began. */
  | { readonly name: string; readonly outcome: 'skipped' }

export interface Exploration<T> extends AsyncDisposable {
  /** The best branch with its sandbox, which is the caller's to delete; `null` if no branch has a score. */
  readonly best: { readonly name: string; readonly score: number; readonly value: T; readonly sandbox: Sandbox } | null
  /** What became of every branch, in their order. */
  readonly branches: readonly Outcome<T>[]
  /** Why the search ended. */
  readonly ended: 'all' | 'stopAt' | 'time' | 'forks'
}

const DEFAULT_CONCURRENCY = 4

/**
 * Searches over forks: each branch runs in a copy of the sandbox. Keeps the sandbox of the best branch and deletes the
 * others, also when it is aborted or throws. The parent stays as it was.
 *
 * Forks live as long as the parent would, from now on. If this process is killed, their time to live ends them; forks of
 * a persistent parent are persistent, too.
 * @throws the reason of `signal`, what `score` throws, the first failure to delete a fork, or an AggregateError of those
 * if forks are left
 */
export async function explore<T>(
  parent: Sandbox,
  branches: readonly Branch<T>[],
  options: ExploreOptions<T>,
): Promise<Exploration<T>> {
  const { concurrency = DEFAULT_CONCURRENCY, budget = {}, signal } = options
  if (!Number.isInteger(concurrency) || concurrency < 1) throw new TypeError('concurrency must be an integer >= 1')
  if (new Set(branches.map(({ name }) => name)).size < branches.length) throw new TypeError('names must differ')
  signal?.throwIfAborted()
  const search = new Search(parent, branches, options)
  const { timeMs = 0, forks = Infinity } = budget
  const deadline = startDeadline(signal, timeMs, 'the search')
  const onAbort = () => search.end(deadline.signal.reason)
  deadline.signal.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, branches.length) }, () => search.work(forks)))
    signal?.throwIfAborted()
    if (search.failure !== undefined) throw search.failure.error
    return await search.result()
  } catch (error) {
    await search.deleteAll(error)
    throw error
  } finally {
    deadline.end()
  }
}

class Search<T> {
  readonly #parent: Sandbox
  readonly #branches: readonly Branch<T>[]
  readonly #options: ExploreOptions<T>
  readonly #outcomes: (Outcome<T> | undefined)[] = []
  readonly #stop = new AbortController()
  #best: NonNullable<Exploration<T>['best']> | null = null
  #next = 0
  #forks = 0
  #ended: Exploration<T>['ended'] = 'all'
  readonly #alive = new Set<Sandbox>()
  /** What `score` or a deletion threw. */
  failure: { readonly error: unknown } | undefined

  constructor(parent: Sandbox, branches: readonly Branch<T>[], options: ExploreOptions<T>) {
    this.#parent = parent
    this.#branches = branches
    this.#options = options
  }

  end(reason: unknown): void {
    if (this.#stop.signal.aborted) return
    if (reason instanceof TimeoutError) this.#ended = 'time'
    this.#stop.abort(reason)
  }

  /** Runs branches, one after the other, until none is left or the search ends. */
  async work(maxForks: number): Promise<void> {
    while (!this.#stop.signal.aborted && this.#next < this.#branches.length) {
      if (this.#forks >= maxForks) {
        this.#ended = 'forks'
        return
      }
      this.#forks++
      const index = this.#next++
      const branch = this.#branches[index]
      if (branch === undefined) return
      try {
        this.#outcomes[index] = await this.#run(branch)
      } catch (error) {
        this.failure ??= { error }
        this.end(error)
      }
    }
  }

  async #run(branch: Branch<T>): Promise<Outcome<T>> {
    const { name } = branch
    const { signal } = this.#stop
    let sandbox: Sandbox | null = null
    let value: T
    let score: number | null
    try {
      // Not aborted: the answer to a fork that is under way says what must be deleted.
      sandbox = await this.#parent.fork()
      this.#alive.add(sandbox)
      signal.throwIfAborted()
      value = await untilAborted(branch.run(sandbox, signal), signal)
      signal.throwIfAborted()
    } catch (error) {
      if (sandbox !== null) await this.#delete(sandbox)
      return signal.aborted ? { name, outcome: 'cancelled' } : { name, outcome: 'failed', error }
    }
    try {
      score = await untilAborted(Promise.resolve(this.#options.score(value, { name, sandbox })), signal)
    } catch (error) {
      if (!signal.aborted) throw error
      await this.#delete(sandbox)
      return { name, outcome: 'cancelled' }
    }
    await this.#keepBetter({ name, score, value, sandbox })
    return { name, outcome: 'scored', score, value }
  }

  async #keepBetter({
    score,
    ...rest
  }: {
    name: string
    score: number | null
    value: T
    sandbox: Sandbox
  }): Promise<void> {
    const { stopAt } = this.#options
    const isBetter = score !== null && !Number.isNaN(score) && (this.#best === null || score > this.#best.score)
    const loser = isBetter ? this.#best?.sandbox : rest.sandbox
    if (isBetter) this.#best = { ...rest, score }
    if (score !== null && stopAt !== undefined && score >= stopAt && !this.#stop.signal.aborted) {
      this.#ended = 'stopAt'
      this.#stop.abort(new OffshootError('the search has found a branch that is good enough'))
    }
    if (loser !== undefined) await this.#delete(loser)
  }

  async #delete(sandbox: Sandbox): Promise<void> {
    await sandbox.delete()
    this.#alive.delete(sandbox)
  }

  /** @throws AggregateError if forks are left, with `cause` and the reasons */
  async deleteAll(cause: unknown): Promise<void> {
    const ended = await Promise.allSettled([...this.#alive].map((each) => this.#delete(each)))
    const reasons = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
    if (reasons.length === 0) return
    const left = [...this.#alive].map(({ id }) => id).join(', ')
    throw new AggregateError([cause, ...reasons], `these forks could not be deleted: ${left}`, { cause })
  }

  async result(): Promise<Exploration<T>> {
    const best = this.#best
    const branches = this.#branches.map(
      ({ name }, index): Outcome<T> => this.#outcomes[index] ?? { name, outcome: 'skipped' },
    )
    return {
      best,
      branches,
      ended: this.#ended,
      [Symbol.asyncDispose]: async () => best?.sandbox.delete(),
    }
  }
}

/** The work of a branch that does not heed the signal must not hold up the end of the search. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = rejectable()
  const onAbort = () => reject(signal.reason)
  // The work itself may have aborted it.
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
    work.catch(() => undefined)
  }
}

function rejectable(): { readonly promise: Promise<never>; readonly reject: (reason: unknown) => void } {
  let reject!: (reason: unknown) => void
  const promise = new Promise<never>((_resolve, refuse) => (reject = refuse))
  return { promise, reject }
}

import type { Answer, Route } from './routes.ts'
import type { Scope } from './scope.ts'
import type { CallOptions } from './transport.ts'

/** What an object of the API consists of. */
interface Parts<Info> {
  /** With the parameters of its path. */
  readonly scope: Scope
  readonly info: Info
  /** Whether the program has made it, so that `await using` deletes it. */
  readonly isOwned: boolean
}

/** An object of the API: its last description, and what can be done with it. */
export abstract class Resource<
  Read extends Route,
  Info extends Answer<Read> = Answer<Read>,
> implements AsyncDisposable {
  /** @internal */
  protected readonly scope: Scope
  readonly #read: Read
  readonly #delete: Route
  readonly #isOwned: boolean
  #info: Info

  /** @internal */
  protected constructor(read: Read, remove: Route, { scope, info, isOwned }: Parts<Info>) {
    this.scope = scope
    this.#read = read
    this.#delete = remove
    this.#isOwned = isOwned
    this.#info = info
  }

  /** As the service has last described it. */
  get info(): Info {
    return this.#info
  }

  /** @internal */
  protected become(info: Info): this {
    this.#info = info
    return this
  }

  /** Asks the service for the current description. @throws NotFoundError */
  async refresh(options: CallOptions = {}): Promise<Info> {
    this.#info = (await this.scope.get(this.#read, options)) as Info
    return this.#info
  }

  /** Deletes it. It is no error if it is gone already. */
  async delete(options: CallOptions = {}): Promise<void> {
    await this.scope.remove(this.#delete, options)
  }

  /** `await using` deletes what the program has made. Objects from `get` and `list` stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOwned) await this.delete()
  }
}

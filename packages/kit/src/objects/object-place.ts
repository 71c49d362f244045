/** Where objects lie: a folder or a bucket. Names are paths of letters, digits, `.`, `_` and `-`. */
export interface ObjectPlace {
  /** Resolves when the object is durable. Replaces an object of that name. */
  put(name: string, content: Uint8Array, signal: AbortSignal): Promise<void>
  /** `null` only if the place has answered that it has no such object. @throws for every other failure */
  get(name: string, signal: AbortSignal): Promise<Buffer | null>
  /** No effect if there is none. */
  remove(name: string, signal: AbortSignal): Promise<void>
}

import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Deadline } from '@offshoot/kit/deadline'
import type { Reply, Work } from './checkpoint-thread.ts'

/** Maximum waiting calls of a thread. */
const MAX_WAITING = 256
/** Beside this module: its source, or in a bundle the compiled one. */
const ENTRY = new URL(`checkpoint-thread${extname(import.meta.url)}`, import.meta.url)

interface Waiting {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * A thread for long work that never yields. The first call starts it, and it stays. If it ends, its calls fail, and the
 * next call starts another one. It does not keep the process alive.
 */
export class Thread {
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #lastId = 0
  #idle: PromiseWithResolvers<void> | undefined

  /** Starts the thread, so that the first call need not wait for it. */
  start(): void {
    this.#worker ??= this.#open()
  }

  /** Resolves when all calls so far have ended, including those whose callers no longer wait. */
  async idle(): Promise<void> {
    if (this.#waiting.size === 0) return
    this.#idle ??= Promise.withResolvers<void>()
    await this.#idle.promise
  }

  /** @throws the error of the work, with its `code`; DeadlineExceeded: the work continues nevertheless */
  async ask<Kind extends keyof Work>(
    kind: Kind,
    asked: Work[Kind]['asked'],
    deadline: Deadline,
  ): Promise<Work[Kind]['answer']> {
    deadline.throwIfOver()
    if (this.#waiting.size >= MAX_WAITING) throw new Error('too many checkpoints at once')
    this.#worker ??= this.#open()
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { resolve, reject })
    this.#worker.ref()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port, not a window's
    this.#worker.postMessage({ id, kind, asked })
    return (await deadline.race(promise)) as Work[Kind]['answer']
  }

  #open(): Worker {
    const worker = new Worker(ENTRY)
    worker.unref()
    worker.on('message', (reply: Reply) => this.#receive(reply))
    worker.once('error', (error) => this.#fail(worker, error))
    worker.once('exit', () => this.#fail(worker, new Error('the thread ended')))
    return worker
  }

  #receive(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (this.#waiting.size === 0) this.#rest()
    if ('error' in reply) waiting?.reject(Object.assign(new Error(reply.error.message), { code: reply.error.code }))
    else waiting?.resolve(reply.answer)
  }

  #fail(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
    this.#rest()
  }

  #rest(): void {
    this.#worker?.unref()
    this.#idle?.resolve()
    this.#idle = undefined
  }
}

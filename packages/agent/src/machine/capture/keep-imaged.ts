import { once } from 'node:events'
import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { checkpointFiles, type MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { continueReleased, stopHeld } from '../guest/hold.ts'
import { runProgram } from '../host/run-program.ts'
import { IMAGED_PATH, KEPT_PIPES } from '../vm/machine.ts'
import type { Vm } from '../vm/vm.ts'
import { keepMemory, type Keeping } from './keep-memory.ts'
import { type MemoryCopy, unwrittenSince } from './memory-copy.ts'
import type { MemoryImage } from './memory-image.ts'

/** QEMU is another user. Only root and that user can enter its folder. */
const PIPE_MODE = '0666'
/** Milliseconds for QEMU to keep its memory, while its guest stands still: a hundred times the usual. */
const KEEP_MS = 5000
/** Milliseconds to continue a guest after an error. Independent of the capture's deadline, which may be over. */
const UNDO_MS = 10_000

/**
 * Lets QEMU map the pages that it still shares with an image from the files that the image was copied to. Stops the guest meanwhile.
 * The copy is complete before, so it does not matter to the checkpoint if QEMU keeps nothing.
 * @returns also the milliseconds for which the guest was stopped
 */
export async function keepImaged(
  vm: Vm,
  image: MemoryImage,
  copy: MemoryCopy,
  deadline: Deadline,
): Promise<{ readonly isKept: boolean; readonly pausedMs: number }> {
  const pipes = await KeptPipes.make(vm.folder, deadline).catch(() => null)
  deadline.throwIfOver()
  if (pipes === null) return { isKept: false, pausedMs: 0 }
  const startedAt = performance.now()
  try {
    await stopHeld(vm, deadline)
    const shared = () => unwrittenSince(image, vm.process, copy, deadline)
    const within = deadline.within(KEEP_MS, 'keeping of the memory')
    const isKept = await pipes.keep(vm, checkpointFiles(copy.folder), shared, within).catch(() => false)
    // QEMU does not wait for an answer any longer, so it can continue.
    await pipes.close()
    await continueReleased(vm, deadline)
    return { isKept, pausedMs: performance.now() - startedAt }
  } catch (error) {
    await pipes.close()
    if (!vm.hasEnded) await continueReleased(vm, Deadline.after(UNDO_MS, 'continuation of a VM'))
    throw error
  }
}

/**
 * The pipes by which QEMU asks which pages of its memory are those of an image, and gets the answer. While this process has them
 * open, QEMU can open them; when it closes them, QEMU does not wait any longer.
 */
export class KeptPipes {
  readonly #paths: readonly string[]
  readonly #asks: Socket
  readonly #same: Socket

  private constructor(paths: readonly string[], asks: Socket, same: Socket) {
    this.#paths = paths
    this.#asks = asks
    this.#same = same
  }

  static async make(folder: string, deadline: Deadline): Promise<KeptPipes> {
    const [asks, same] = [join(folder, KEPT_PIPES.asks), join(folder, KEPT_PIPES.same)]
    // An agent that was killed may have left them.
    for (const path of [asks, same]) await rm(path, { force: true })
    await runProgram('mkfifo', [`--mode=${PIPE_MODE}`, asks, same], deadline)
    const asking = openPipe(asks, 'readable')
    try {
      return new KeptPipes([asks, same], asking, openPipe(same, 'writable'))
    } catch (error) {
      asking.destroy()
      throw error
    }
  }

  /**
   * Lets QEMU map the pages that the answer says. Its CPUs stand still meanwhile.
   * @param layer the complete files of the capture
   * @param answer called when QEMU's main thread waits, so that nothing writes its memory: one byte per page of the layer, 1 if
   *   the memory is as the file says
   * @returns whether QEMU has done it
   */
  async keep(vm: Keeping, layer: MemoryFiles, answer: () => Promise<Uint8Array>, deadline: Deadline): Promise<boolean> {
    const over = new AbortController()
    const answered = this.#answer(answer, AbortSignal.any([over.signal, deadline.signal]))
    const isOpened = await keepMemory(vm, layer, IMAGED_PATH, deadline)
    over.abort()
    return (await deadline.race(answered)) && isOpened
  }

  /** @returns whether QEMU was answered */
  async #answer(answer: () => Promise<Uint8Array>, signal: AbortSignal): Promise<boolean> {
    try {
      await once(this.#asks, 'data', { signal })
      const bytes = await answer()
      const { promise: written, resolve, reject } = Promise.withResolvers<void>()
      this.#same.write(bytes, (error) => (error ? reject(error) : resolve()))
      await Promise.race([written, once(this.#same, 'close')])
      return !this.#same.destroyed
    } catch {
      return false
    } finally {
      this.#same.destroy()
    }
  }

  async close(): Promise<void> {
    for (const pipe of [this.#asks, this.#same]) pipe.destroy()
    for (const path of this.#paths) await rm(path, { force: true })
  }
}

/**
 * Opens both ends of a pipe, so that it need not wait for QEMU. A socket that could read would take what it has written.
 * @throws Error if the path names something else: QEMU's user can replace files in QEMU's folder
 */
export function openPipe(path: string, use: 'readable' | 'writable'): Socket {
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  if (!fstatSync(fd).isFIFO()) {
    closeSync(fd)
    throw new Error(`${path} is no pipe`)
  }
  const socket = new Socket({ fd, readable: use === 'readable', writable: use === 'writable' })
  return socket.on('error', () => undefined)
}

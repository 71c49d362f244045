import { open } from 'node:fs/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import type { SealOnThread } from '../../store/checkpoints/verified-files.ts'
import { runProgram } from '../host/run-program.ts'
import type { Thread } from './thread.ts'

/** Bytes of a file from which on its fsync would let others wait. */
const LARGE_BYTES = 8 * 1024 * 1024

/**
 * Seals files on a thread. Those that are to be durable are on the disk then. Large ones are written out slowly meanwhile, one at a
 * time, because an fsync would let every other fsync of the host wait.
 * @param program path of the built native/write-out.c
 */
export function durableSeal(thread: Pick<Thread, 'ask'>, program: string): SealOnThread {
  let last: Promise<unknown> = Promise.resolve()
  const writeOut = async (path: string, deadline: Deadline): Promise<void> => {
    // Whatever it could not do is left to the fsync, which also reports the errors of the disk.
    const done = last.then(() => runProgram(program, [path], deadline)).catch(() => undefined)
    last = done
    await done
  }
  return async ({ isDurable, ...asked }, deadline) => {
    if (!isDurable) return thread.ask('seal', asked, deadline)
    // Opened first: an error of the disk is told to each file that was open then.
    const file = await open(asked.path)
    try {
      const { size } = await file.stat()
      const [seal] = await Promise.all([
        thread.ask('seal', asked, deadline),
        ...(size < LARGE_BYTES ? [] : [writeOut(asked.path, deadline)]),
      ])
      await file.sync()
      return seal
    } finally {
      await file.close()
    }
  }
}

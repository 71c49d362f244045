/** Entry point of the threads that copy memory and hash files, started by {@link CheckpointThread}. */
import { parentPort } from 'node:worker_threads'
import { copyShare, type CopyShare, saveMemory, type SavedMemory, type SaveMemory } from './save-memory.ts'
import { sharedPages, type SharedPages } from './shared-pages.ts'
import type { FileSeal } from '../../store/checkpoints/checkpoint.ts'
import { sealFile, type SealFile } from '../../store/checkpoints/seal-file.ts'

/** The functions that such a thread offers. */
export interface Work {
  readonly save: { readonly asked: SaveMemory; readonly answer: SavedMemory }
  readonly copy: { readonly asked: CopyShare; readonly answer: void }
  readonly shared: { readonly asked: SharedPages; readonly answer: Uint8Array }
  readonly seal: { readonly asked: SealFile; readonly answer: FileSeal }
}

export type Question = {
  [Kind in keyof Work]: { readonly id: number; readonly kind: Kind; readonly asked: Work[Kind]['asked'] }
}[keyof Work]

export type Reply =
  | { readonly id: number; readonly answer: Work[keyof Work]['answer'] }
  | { readonly id: number; readonly error: { readonly message: string; readonly code: string | undefined } }

parentPort?.on('message', (question: Question) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port, not a window's
  parentPort?.postMessage(reply(question))
})

function reply(question: Question): Reply {
  const { id } = question
  try {
    return { id, answer: answer(question) }
  } catch (error) {
    // A copied error would lose its code.
    const { message, code } = error as NodeJS.ErrnoException
    return { id, error: { message, code } }
  }
}

function answer(question: Question): Work[keyof Work]['answer'] {
  switch (question.kind) {
    case 'save':
      return saveMemory(question.asked)
    case 'copy':
      return copyShare(question.asked)
    case 'shared':
      return sharedPages(question.asked)
    case 'seal':
      return sealFile(question.asked)
  }
}

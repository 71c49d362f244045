import { FairLimit } from '@offshoot/kit/fair-limit'
import { Refusal } from './refusal.ts'

const MIB = 1024 * 1024
/** Limit of the rows in one answer, over all of its statements. Further rows are dropped, and marked as truncated. */
export const MAX_ANSWER_BYTES = 32 * MIB
/**
 * Limit of all answers in this process. An answer's rows exist up to three times while it is written as JSON, so the
 * process needs up to three times as much.
 */
const MAX_PROCESS_BYTES = 256 * MIB
/** Of these, the answers to one workspace. */
const MAX_WORKSPACE_BYTES = 64 * MIB
/** Bytes that an answer takes from the limit at a time. */
const CHUNK_BYTES = MIB
/** Bytes of a value beside its text. */
const VALUE_BYTES = 16

/** The memory of one answer. */
export interface AnswerMemory {
  /** @returns false if there is no memory for the row, which must then be dropped */
  keep(row: readonly (string | null)[]): boolean
  /** A row that was kept is not part of the answer any more. */
  drop(row: readonly (string | null)[]): void
}

/** The memory of all answers that this process holds. */
export class AnswersMemory {
  readonly #limit: FairLimit

  constructor(limit = new FairLimit(MAX_WORKSPACE_BYTES, MAX_PROCESS_BYTES)) {
    this.#limit = limit
  }

  /**
   * Call it before any statement runs: a refused request has changed nothing and can be sent again.
   * @returns the memory of one answer, and a function that releases it once the answer was sent
   * @throws Refusal 429 if there is no room for another whole answer
   */
  open(workspaceId: string): { readonly memory: AnswerMemory; readonly release: () => void } {
    const room = this.#limit.take(workspaceId, MAX_ANSWER_BYTES)
    if (room === null) throw new Refusal(429, 'too many large answers at the same time')
    room()
    const chunks: (() => void)[] = []
    let bytes = 0
    // A statement whose answer was dropped may still send rows.
    let isReleased = false
    const memory = {
      keep: (row: readonly (string | null)[]) => {
        const wanted = bytes + bytesOf(row)
        if (isReleased || wanted > MAX_ANSWER_BYTES) return false
        while (chunks.length * CHUNK_BYTES < wanted) {
          const chunk = this.#limit.take(workspaceId, CHUNK_BYTES)
          if (chunk === null) return false
          chunks.push(chunk)
        }
        bytes = wanted
        return true
      },
      drop: (row: readonly (string | null)[]) => {
        bytes -= bytesOf(row)
      },
    }
    const release = () => {
      isReleased = true
      for (const chunk of chunks.splice(0)) chunk()
    }
    return { memory, release }
  }
}

function bytesOf(row: readonly (string | null)[]): number {
  return row.reduce((sum, value) => sum + VALUE_BYTES + (value?.length ?? 0), 0)
}

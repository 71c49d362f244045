/** Bytes of a window: a multiple of the block size. */
export const WINDOW_BYTES = 1024 * 1024

/** A part of a file that may have data, in bytes. */
export interface DataRange {
  readonly start: number
  readonly end: number
}

/** A piece of a file, of {@link WINDOW_BYTES} except the last. */
interface FileWindow {
  readonly at: number
  readonly length: number
  /** `false`: it has only zeros, and occupies no blocks. */
  readonly hasData: boolean
}

/** The pieces of a file in order. @param ranges sorted; `null`: every piece may have data */
export function* windowsOf(bytes: number, ranges: readonly DataRange[] | null): Generator<FileWindow> {
  const parts = ranges ?? []
  let next = 0
  for (let at = 0; at < bytes; at += WINDOW_BYTES) {
    const length = Math.min(WINDOW_BYTES, bytes - at)
    while ((parts[next]?.end ?? Infinity) <= at) next += 1
    yield { at, length, hasData: ranges === null || (parts[next]?.start ?? Infinity) < at + length }
  }
}

const ZEROS = Buffer.alloc(WINDOW_BYTES)

/** The content of a window without data. */
export function zeroWindow(length: number): Buffer {
  return ZEROS.subarray(0, length)
}

/** Whether this is a {@link zeroWindow}: costs nothing, and says nothing about other zeros. */
export function isZeroWindow(chunk: Buffer): boolean {
  return chunk.buffer === ZEROS.buffer && chunk.byteOffset === ZEROS.byteOffset
}

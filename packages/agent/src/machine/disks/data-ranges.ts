import { stat } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { z } from 'zod'
import type { DataRange } from '../../store/data-dir/file-windows.ts'
import { runProgram } from '../host/run-program.ts'

/** Bytes. A smaller file is read as fast as its map. */
const SMALL_BYTES = 256 * 1024 ** 2
const MAP_MS = 60_000

const map = z.array(z.object({ start: z.int(), length: z.int(), data: z.boolean() }))

/**
 * Where a large file has blocks. The disk of a database has 64 GiB, nearly all of them holes, and reading holes takes
 * minutes.
 * @returns `null` if that is not known: everything must be read
 */
export async function dataRanges(path: string): Promise<readonly DataRange[] | null> {
  const { size, blocks } = await stat(path)
  if (size < SMALL_BYTES || blocks * 512 > size / 2) return null
  const args = ['map', '--output=json', '-U', '-f', 'raw', path]
  try {
    const text = await runProgram('qemu-img', args, Deadline.after(MAP_MS, `map of ${path}`))
    const parts = map.parse(JSON.parse(text))
    return parts.flatMap(({ start, length, data }) => (data ? [{ start, end: start + length }] : []))
  } catch {
    return null
  }
}

import { readFileSync, statSync } from 'node:fs'
import type { MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { decodeRuns, type PageRun } from './page-runs.ts'

/** Pages of an earlier checkpoint, which stay on disk as a base of later checkpoints. */
export interface MemoryBase {
  readonly inode: number
  readonly runs: readonly PageRun[]
  /** The index of each run's first page in the file. */
  readonly offsets: readonly number[]
  readonly pages: number
}

export function openBase({ pages, runs }: MemoryFiles): MemoryBase {
  return placeBase(statSync(pages).ino, decodeRuns(readFileSync(runs)))
}

export function placeBase(inode: number, runs: readonly PageRun[]): MemoryBase {
  const offsets: number[] = []
  let pages = 0
  for (const run of runs) {
    offsets.push(pages)
    pages += run.pages
  }
  return { inode, runs, offsets, pages }
}

/** The part of a run that begins with a page of the file; `null` if the file has no such page. */
export function runAt(base: MemoryBase | undefined, filePage: number): PageRun | null {
  if (base === undefined || filePage < 0 || filePage >= base.pages) return null
  const { runs, offsets } = base
  let [low, high] = [0, runs.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((offsets[middle] ?? 0) <= filePage) low = middle
    else high = middle - 1
  }
  const run = runs[low]
  if (run === undefined) return null
  const into = filePage - (offsets[low] ?? 0)
  return { firstPage: run.firstPage + into, pages: run.pages - into }
}

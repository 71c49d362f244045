import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { place } from './copy-written.ts'
import type { PageRun } from './page-runs.ts'

const PAGES = 60

function runsOf(bytes: readonly boolean[]): PageRun[] {
  const runs: PageRun[] = []
  for (const [page, isIn] of bytes.entries()) {
    const last = runs.at(-1)
    if (!isIn) continue
    if (last && last.firstPage + last.pages === page) runs[runs.length - 1] = { ...last, pages: last.pages + 1 }
    else runs.push({ firstPage: page, pages: 1 })
  }
  return runs
}

it('every page that was ever written has one place, and is copied there whenever it is written', () => {
  const pass = fc.array(fc.boolean(), { minLength: PAGES, maxLength: PAGES })
  fc.assert(
    fc.property(fc.array(pass, { minLength: 1, maxLength: 5 }), (passes) => {
      const file: number[] = []
      let known: readonly PageRun[] = []
      const memory = new Map<number, number>()
      for (const [index, written] of passes.entries()) {
        const { placed, added } = place(known, runsOf(written))
        known = [...known, ...added]
        for (const [page, isWritten] of written.entries()) if (isWritten) memory.set(page, index)
        for (const { firstPage, pages, filePage } of placed)
          for (let at = 0; at < pages; at++) file[filePage + at] = memory.get(firstPage + at) ?? -1
      }
      const restored = new Map<number, number>()
      let filePage = 0
      for (const { firstPage, pages } of known)
        for (let at = 0; at < pages; at++) {
          expect(restored.has(firstPage + at)).toBe(false)
          restored.set(firstPage + at, file[filePage++] ?? -1)
        }
      expect(file).toHaveLength(filePage)
      expect(restored).toEqual(memory)
    }),
  )
})

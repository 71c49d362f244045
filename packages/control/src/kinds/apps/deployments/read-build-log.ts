import type pg from 'pg'
import { type BuildLogRow, buildLogAfter } from './build-log-statements.ts'

/** Pieces read by one query. */
const PIECES = 256

/** All pieces after the one with that number, in order, as far as they are written. */
export async function* readBuildLog(pool: pg.Pool, deploymentId: string, after = '0'): AsyncGenerator<BuildLogRow> {
  for (let last = after; ;) {
    const rows = await buildLogAfter(pool, deploymentId, last, PIECES)
    yield* rows
    const end = rows.at(-1)
    if (end === undefined || rows.length < PIECES) return
    last = end.number
  }
}

/** The whole log as one text. */
export async function wholeBuildLog(pool: pg.Pool, deploymentId: string): Promise<string> {
  let whole = ''
  for await (const { text } of readBuildLog(pool, deploymentId)) whole += text
  return whole
}

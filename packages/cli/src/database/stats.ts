import { type Action, operand } from '../frame/command.ts'
import { bytes } from '../frame/output.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'

/** Slow statements that are shown, and characters of each. */
const STATEMENTS = 5
const STATEMENT_CHARS = 80

export const run: Action = async (cli, line) => {
  const api = await cli.api()
  const path = { id: await resolve(api, 'database', operand(line, 0)) }
  const reading = api.request('GET /v1/databases/{id}/stats', { path, signal: cli.signal })
  const stats = await withProgress(cli, 'asking the server', reading)
  const { out } = cli
  if (line.options.json) return out.json(stats)
  const { archive, cache_hit_ratio: hits } = stats
  out.pairs([
    ['size', bytes(stats.size_bytes)],
    ['connections', `${stats.connections} of ${stats.max_connections}`],
    ['from memory', hits === null ? null : `${(hits * 100).toFixed(1)} %`],
    ['commits', String(stats.commits)],
    ['deadlocks', String(stats.deadlocks)],
    ['archive', `${archive.state}, ${bytes(archive.size_bytes)}, ${archive.waiting_segments} segments wait`],
    ['archive gap', archive.gap_at],
  ])
  const slowest = stats.slow_statements.slice(0, STATEMENTS)
  if (slowest.length === 0) return
  out.line()
  out.table(
    ['MEAN', 'CALLS', 'SLOWEST STATEMENTS'],
    slowest.map((each) => [
      `${each.mean_ms.toFixed(1)} ms`,
      String(each.calls),
      each.query.replaceAll(/\s+/g, ' ').slice(0, STATEMENT_CHARS),
    ]),
    '',
  )
}

import { type Action, operand } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { UsageError } from '../frame/failure.ts'
import { showHost } from './show.ts'

/** `null`: the label goes. */
type Changes = ReadonlyMap<string, string | null>

export const run: Action = async (cli, line) => {
  const changes = changesOf(line.operands.slice(1))
  const api = operatorApi(cli)
  const path = { id: operand(line, 0) }
  const { labels } = await api.request('GET /v1/admin/hosts/{id}', { path, signal: cli.signal })
  const body = { labels: changed(labels, changes) }
  showHost(cli, line.options, await api.request('PATCH /v1/admin/hosts/{id}', { path, body, signal: cli.signal }))
}

function changesOf(words: readonly string[]): Changes {
  return new Map(
    words.map((word) => {
      const at = word.indexOf('=')
      if (at > 0) return [word.slice(0, at), word.slice(at + 1)]
      if (at === -1 && /.-$/.test(word)) return [word.slice(0, -1), null]
      throw new UsageError(`a label must have the form KEY=VALUE, or KEY- to remove it, and not "${word}"`)
    }),
  )
}

function changed(labels: Readonly<Record<string, string>>, changes: Changes): Record<string, string> {
  const all = [...new Map<string, string | null>([...Object.entries(labels), ...changes])]
  return Object.fromEntries(all.flatMap(([key, value]) => (value === null ? [] : [[key, value]])))
}

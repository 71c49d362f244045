import type { Fork, ForkTree } from '@offshoot/contract/fork'
import type { Offshoot } from '@offshoot/sdk'
import { type Action, operand } from '../frame/command.ts'
import { EXIT } from '../frame/failure.ts'
import { withProgress } from '../frame/progress.ts'
import { resolve } from '../frame/resolve.ts'

interface Options {
  readonly count?: number
  readonly name?: string
  readonly metadata?: Readonly<Record<string, string>>
}

export const run: Action<Options> = async (cli, line) => {
  const { count, name, json } = line.options
  const api = await cli.api()
  const id = await resolve(api, 'sandbox', operand(line, 0))
  const metadata = { ...(line.options.metadata ?? (await tagsOf(api, id))), ...(name !== undefined && { name }) }
  const call = { path: { id }, signal: cli.signal }
  const forking: Promise<Fork | ForkTree> =
    count === undefined
      ? api.request('POST /v1/sandboxes/{id}/fork', { ...call, body: { metadata } })
      : api.request('POST /v1/sandboxes/{id}/fork-tree', { ...call, body: { metadata, count } })
  const tree = await withProgress(cli, count === undefined ? 'forking' : `forking into ${count}`, forking)
  const errors = 'errors' in tree ? tree.errors : []
  if (json) cli.out.json(tree)
  else for (const child of tree.children) cli.out.line(child.id)
  for (const warning of tree.warnings) cli.out.note(`offshoot: ${warning}`)
  for (const { index, error } of errors) cli.out.note(`offshoot: copy ${index} did not start: ${error}`)
  return errors.length === 0 ? 0 : EXIT.failed
}

/** Without the name: it would stand for parent and copy. */
async function tagsOf(api: Offshoot, id: string): Promise<Readonly<Record<string, string>>> {
  const { metadata } = await api.request('GET /v1/sandboxes/{id}', { path: { id } })
  const { name: _name, ...tags } = metadata
  return tags
}

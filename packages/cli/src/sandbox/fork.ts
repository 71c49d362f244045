import type { Fork, ForkTree } from '@offshoot/contract/fork'
import type { Sandbox } from '@offshoot/contract/sandbox'
import type { Api } from '../frame/api.ts'
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
  const call = <T>(route: string) =>
    withProgress(
      cli,
      count === undefined ? 'forking' : `forking into ${count}`,
      api.send<T>('POST', `/v1/sandboxes/${id}/${route}`, { body: { metadata, count }, signal: cli.signal }),
    )
  const tree = count === undefined ? await call<Fork>('fork') : await call<ForkTree>('fork-tree')
  const errors = 'errors' in tree ? tree.errors : []
  if (json) cli.out.json(tree)
  else for (const child of tree.children) cli.out.line(child.id)
  for (const warning of tree.warnings) cli.out.note(`offshoot: ${warning}`)
  for (const { index, error } of errors) cli.out.note(`offshoot: copy ${index} did not start: ${error}`)
  return errors.length === 0 ? 0 : EXIT.failed
}

/** Without the name: it would stand for parent and copy. */
async function tagsOf(api: Api, id: string): Promise<Readonly<Record<string, string>>> {
  const { metadata } = await api.get<Sandbox>(`/v1/sandboxes/${id}`)
  const { name: _name, ...tags } = metadata
  return tags
}

import type { Sandbox } from '@offshoot/contract/sandbox'
import type { Cli } from '../frame/cli.ts'
import type { Action } from '../frame/command.ts'
import { resolve } from '../frame/resolve.ts'
import { nameOf, statusOf } from './show.ts'

interface Node {
  readonly sandbox: Sandbox
  readonly children: Node[]
}

export const run: Action = async (cli, { operands: [text], options }) => {
  const api = await cli.api()
  const root = text === undefined ? null : await resolve(api, 'sandbox', text)
  const sandboxes = await api.list('GET /v1/sandboxes', { query: { limit: 1000, order: 'asc' } }).all()
  const nodes = new Map(sandboxes.map((sandbox): [string, Node] => [sandbox.id, { sandbox, children: [] }]))
  const roots: Node[] = []
  for (const node of nodes.values()) {
    const parent = node.sandbox.parent_id === null ? undefined : nodes.get(node.sandbox.parent_id)
    // The parent of a fork may be deleted.
    if (parent === undefined) roots.push(node)
    else parent.children.push(node)
  }
  const chosen = root === null ? roots : [nodes.get(root)].filter((node) => node !== undefined)
  if (options.json) return cli.out.json(chosen)
  if (root !== null && chosen.length === 0) await api.request('GET /v1/sandboxes/{id}', { path: { id: root } })
  if (chosen.length === 0) cli.out.note('There are no sandboxes. Create one: offshoot sandbox create')
  for (const node of chosen) show(cli, node, '', '')
}

function show(cli: Cli, { sandbox, children }: Node, first: string, rest: string): void {
  const name = nameOf(sandbox)
  const { out } = cli
  out.line(
    `${first}${sandbox.id}${name === '' ? '' : `  ${name}`}  ${sandbox.template}  ${statusOf(out, sandbox.status)}`,
  )
  children.forEach((child, i) => {
    const isLast = i === children.length - 1
    show(cli, child, `${rest}${isLast ? '└─ ' : '├─ '}`, `${rest}${isLast ? '   ' : '│  '}`)
  })
}

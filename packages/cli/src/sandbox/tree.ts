import type { Lineage, LineageNode } from '@offshoot/contract/lineage'
import type { Cli } from '../frame/cli.ts'
import type { Action } from '../frame/command.ts'
import { resolve } from '../frame/resolve.ts'
import { nameOf, statusOf } from './show.ts'

/** An object of the service, and what came of it. */
interface Branch<T> {
  readonly item: T
  readonly children: Branch<T>[]
}

export const run: Action = async (cli, { operands: [text], options }) => {
  const api = await cli.api()
  if (text !== undefined) {
    const id = await resolve(api, 'sandbox', text)
    const lineage = await api.request('GET /v1/sandboxes/{id}/lineage', { path: { id } })
    return options.json ? cli.out.json(lineage) : showLineage(cli, lineage, id)
  }
  const sandboxes = await api.list('GET /v1/sandboxes', { query: { limit: 1000, order: 'asc' } }).all()
  const roots = grow(sandboxes)
  if (options.json) {
    type Shown = { sandbox: (typeof sandboxes)[number]; children: Shown[] }
    const shown = ({ item, children }: (typeof roots)[number]): Shown => ({
      sandbox: item,
      children: children.map(shown),
    })
    return cli.out.json(roots.map(shown))
  }
  if (roots.length === 0) cli.out.note('There are no sandboxes. Create one: offshoot sandbox create')
  for (const root of roots) {
    show(cli, root, (each) => line(each.id, nameOf(each), each.template, statusOf(cli.out, each.status)))
  }
}

/** The whole tree of a sandbox. Deleted nodes are shown only if something still exists that came of them. */
function showLineage(cli: Cli, { nodes, truncated }: Lineage, chosen: string): void {
  const { out } = cli
  const textOf = ({ id, kind, name, template, status }: LineageNode) => {
    const shownStatus =
      status === 'deleted' ? out.style('dim', status) : status === 'ready' ? 'snapshot' : statusOf(out, status)
    const text = line(id, name ?? '', template, kind === 'snapshot' && status === 'creating' ? 'snapshot' : shownStatus)
    return id === chosen ? out.style('bold', text) : text
  }
  const byAge = nodes.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
  for (const root of grow(byAge).flatMap((each) => prune(each, chosen))) show(cli, root, textOf)
  if (truncated) out.note('The tree has more nodes than this.')
}

function grow<T extends { readonly id: string; readonly parent_id: string | null }>(items: readonly T[]): Branch<T>[] {
  const branches = new Map(items.map((item): [string, Branch<T>] => [item.id, { item, children: [] }]))
  const roots: Branch<T>[] = []
  for (const branch of branches.values()) {
    const parent = branch.item.parent_id === null ? undefined : branches.get(branch.item.parent_id)
    // The parent may be deleted, or not known any more.
    if (parent === undefined) roots.push(branch)
    else parent.children.push(branch)
  }
  return roots
}

function prune({ item, children }: Branch<LineageNode>, chosen: string): Branch<LineageNode>[] {
  const kept = children.flatMap((each) => prune(each, chosen))
  return item.status === 'deleted' && item.id !== chosen && kept.length === 0 ? [] : [{ item, children: kept }]
}

function line(id: string, name: string, template: string, status: string): string {
  return [id, ...(name === '' ? [] : [name]), template, status].join('  ')
}

function show<T>(cli: Cli, { item, children }: Branch<T>, textOf: (item: T) => string, first = '', rest = ''): void {
  cli.out.line(`${first}${textOf(item)}`)
  children.forEach((child, i) => {
    const isLast = i === children.length - 1
    show(cli, child, textOf, `${rest}${isLast ? '└─ ' : '├─ '}`, `${rest}${isLast ? '   ' : '│  '}`)
  })
}

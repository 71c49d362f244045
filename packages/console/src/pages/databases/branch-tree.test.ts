import type { DatabaseSummary } from '@offshoot/sdk'
import { expect, it } from 'vitest'
import { type Branch, treeOf } from './branch-tree.ts'

const database = (id: string, parentId: string | null, day: number): DatabaseSummary => ({
  id,
  parentId,
  label: id,
  size: '1g',
  status: 'running',
  createdAt: `2026-01-0${day}T00:00:00.000Z`,
})
const shape = ({ database: { id }, children }: Branch): unknown => [id, ...children.map(shape)]

it('is the same from each of its databases, oldest branches first', () => {
  const all = [
    database('other', null, 1),
    database('leaf', 'late', 4),
    database('late', 'root', 3),
    database('early', 'root', 2),
    database('root', 'deleted', 1),
  ]
  for (const id of ['root', 'late', 'leaf']) {
    const tree = treeOf(all, id)
    expect(tree && shape(tree)).toEqual(['root', ['early'], ['late', ['leaf']]])
  }
  expect(treeOf(all, 'deleted')).toBe(null)
})

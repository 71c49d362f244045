import { describe, expect, it } from 'vitest'
import { layOut, linksOf, leavesOf, NODE, type Relative, withDistinctNames, withoutDeadEnds } from './family.ts'

const relative = (id: string, parentId: string | null, more: Partial<Relative> = {}): Relative => ({
  id,
  parentId,
  kind: 'sandbox',
  name: id,
  status: 'running',
  createdAt: `2026-01-01T00:00:0${id.length}.000Z`,
  link: parentId === null ? 'template' : 'fork',
  template: 'base',
  deletedAt: null,
  memoryBytes: 2 ** 29,
  sizeBytes: null,
  canBePromoted: false,
  ...more,
})

const FAMILY = [
  relative('a', null),
  relative('ab', 'a'),
  relative('ac', 'a', { kind: 'snapshot', status: 'available' }),
  relative('acd', 'ac'),
  relative('abe', 'ab', { status: 'deleted' }),
]

describe('a family', () => {
  it('keeps deleted ancestors of the living, and leaves out what else is deleted', () => {
    const gone = { status: 'deleted' }
    const all = [
      relative('a', null, gone),
      relative('ab', 'a', gone),
      relative('abc', 'ab'),
      relative('abd', 'ab', gone),
      relative('ae', 'a'),
      relative('af', 'a', gone),
      relative('x', 'unknown', gone),
    ]
    expect(withoutDeadEnds(all, 'abc').map(({ id }) => id)).toEqual(['a', 'ab', 'abc', 'ae'])
    expect(withoutDeadEnds(all, 'abd').map(({ id }) => id)).toEqual(['a', 'ab', 'abc', 'abd', 'ae'])
  })

  it('ends a circle, which a broken list could have', () => {
    expect(withoutDeadEnds([relative('a', 'b'), relative('b', 'a')], 'a')).toHaveLength(2)
  })

  it('has the running sandboxes without living children as leaves', () => {
    expect(leavesOf(FAMILY).map(({ id }) => id)).toEqual(['ab', 'acd'])
  })
})

describe('names in a family', () => {
  it('that several have get a part of the id', () => {
    const family = [
      relative('abcdef', null, { name: 'x' }),
      relative('bcdefg', null, { name: 'x' }),
      relative('c', null),
    ]
    expect(withDistinctNames(family).map(({ name }) => name)).toEqual(['x abcd', 'x bcde', 'c'])
  })
})

describe('the picture of a family', () => {
  it('places each once, children to the right of their parent, and nobody over another', () => {
    const placed = layOut(FAMILY)
    expect(placed.map(({ relative: { id } }) => id).toSorted()).toEqual(FAMILY.map(({ id }) => id).toSorted())
    const at = new Map(placed.map((each) => [each.relative.id, each]))
    for (const { relative: each, x } of placed)
      if (each.parentId !== null) expect(x).toBeGreaterThan((at.get(each.parentId)?.x ?? 0) + NODE.width)
    for (const one of placed)
      for (const other of placed)
        if (one !== other && one.x === other.x) expect(Math.abs(one.y - other.y)).toBeGreaterThanOrEqual(NODE.height)
  })

  it('has a line to each relative whose parent is in the picture', () => {
    const placed = layOut(withoutDeadEnds(FAMILY, 'a'))
    const ids = new Set(placed.map(({ relative: { id } }) => id))
    const children = placed.filter(({ relative: { parentId } }) => parentId !== null && ids.has(parentId))
    expect(linksOf(placed).map(({ childId }) => childId)).toEqual(children.map(({ relative: { id } }) => id))
    const [parent, child] = layOut([relative('p', null), relative('c', 'p')])
    const [link] = linksOf(layOut([relative('p', null), relative('c', 'p')]))
    expect(link?.curve).toMatch(`M${(parent?.x ?? 0) + NODE.width},`)
    expect(link?.curve).toMatch(new RegExp(` ${child?.x},\\S+$`))
  })

  it('places two hundred', () => {
    const many = Array.from({ length: 200 }, (_, n) =>
      relative(`n${n}`, n === 0 ? null : `n${Math.floor((n - 1) / 3)}`),
    )
    expect(layOut(many)).toHaveLength(200)
  })
})

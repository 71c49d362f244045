import type { FileEntry } from '@offshoot/sdk'
import { describe, expect, it } from 'vitest'
import { contentOf } from './content.ts'
import { compare } from './comparison.ts'
import { ancestorsOf, baseName, join, parentOf, visibleRows } from './tree.ts'

const entry = (path: string, more: Partial<FileEntry> = {}) =>
  ({ path, name: baseName(path), type: 'file', isDir: false, size: 1, mode: '0644', mtimeMs: 1, ...more }) as FileEntry
const folder = (path: string) => entry(path, { type: 'dir', isDir: true })

const bytes = (...values: number[]) => new Uint8Array(values)

describe('paths', () => {
  it('are joined and split', () => {
    expect([join('/', 'a'), join('/a', 'b')]).toEqual(['/a', '/a/b'])
    expect([parentOf('/a/b'), parentOf('/a')]).toEqual(['/a', '/'])
    expect([baseName('/a/b'), baseName('/')]).toEqual(['b', '/'])
    expect([ancestorsOf('/a/b/c'), ancestorsOf('/a'), ancestorsOf('/')]).toEqual([['/', '/a', '/a/b'], ['/'], ['/']])
  })
})

describe('the tree', () => {
  const listings = new Map([
    ['/', [entry('/b10'), entry('/b9'), folder('/z'), entry('/link', { type: 'symlink', targetType: 'dir' })]],
    ['/z', [entry('/z/x')]],
  ])

  it('has folders and links to folders first, then names with their numbers in order', () => {
    const names = visibleRows('/', new Set(), listings).map((row) => row.entry.name)
    expect(names).toEqual(['link', 'z', 'b9', 'b10'])
  })

  it('shows what is in expanded folders, once it is known', () => {
    const rows = visibleRows('/', new Set(['/z', '/link', '/b9']), listings)
    expect(rows.map((row) => [row.entry.path, row.level, row.isExpanded, row.isLoading])).toEqual([
      ['/link', 1, true, true],
      ['/z', 1, true, false],
      ['/z/x', 2, false, false],
      ['/b9', 1, false, false],
      ['/b10', 1, false, false],
    ])
  })
})

describe('the content of a file', () => {
  it('is text if it is valid UTF-8 without NUL', () => {
    expect(contentOf('/a', bytes(0xc3, 0xbc, 10))).toEqual({ is: 'text', text: 'ü\n' })
    expect(contentOf('/a', bytes(0xef, 0xbb, 0xbf, 65))).toEqual({ is: 'text', text: '\uFEFFA' })
    expect(contentOf('/a.html', bytes(60))).toEqual({ is: 'text', text: '<' })
    expect(contentOf('/a', bytes(0xff)).is).toBe('binary')
    expect(contentOf('/a.txt', bytes(65, 0)).is).toBe('binary')
  })

  it('is an image only if its type cannot hold a script', () => {
    expect(contentOf('/a.PNG', bytes(0)).is).toBe('image')
    expect(contentOf('/a.svg', bytes(60)).is).toBe('text')
  })
})

describe('the comparison of two folders', () => {
  it('finds what was added, removed and changed, and leaves out equal files and changed folders', () => {
    const before = [folder('/d'), entry('/same'), entry('/edited'), entry('/gone'), entry('/chmod')]
    const after = [
      { ...folder('/d'), mtimeMs: 9 },
      entry('/same'),
      entry('/edited', { mtimeMs: 2 }),
      entry('/new'),
      entry('/chmod', { mode: '0755' }),
    ]
    expect(compare(before, after).map(({ path, change }) => [path, change])).toEqual([
      ['/chmod', 'changed'],
      ['/edited', 'changed'],
      ['/gone', 'removed'],
      ['/new', 'added'],
    ])
  })
})

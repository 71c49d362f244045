import type { DetailedFileEntry } from '@offshoot/guest-link/file-entry'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { childPath, presentEntry } from './present-entry.ts'
import { parseQueryPath } from '../../http/files/parse-query-path.ts'

const file: DetailedFileEntry = {
  name: Buffer.alloc(0),
  type: 'file',
  mode: 0o644,
  uid: 1000,
  gid: 50,
  userName: 'user',
  groupName: 'staff',
  size: 3,
  isSizeKnown: true,
  mtimeMs: 1_700_000_000_999.5,
  target: null,
  linked: null,
}
const present = (path: string | Buffer, entry: Partial<DetailedFileEntry> = {}) =>
  presentEntry(Buffer.from(path), { ...file, ...entry })

describe('presentEntry', () => {
  it('has exactly the specified fields for a regular file', () => {
    expect(present('/tmp/a')).toEqual({
      name: 'a',
      path: '/tmp/a',
      type: 'file',
      is_dir: false,
      size: 3,
      mode: '0644',
      mtime: 1_700_000_000,
      mtime_ms: 1_700_000_000_999,
      uid: 1000,
      gid: 50,
      user: 'user',
      group: 'staff',
    })
  })

  it('describes folders, links, and permission bits of every length', () => {
    expect(present('/d', { type: 'dir', mode: 0o1777 })).toMatchObject({ type: 'dir', is_dir: true, mode: '1777' })
    expect(present('/l', { type: 'symlink', target: Buffer.from('../x'), mode: 0 })).toMatchObject({
      type: 'symlink',
      is_dir: false,
      target: '../x',
      mode: '0000',
    })
  })

  it('names owners without a name by their numbers', () => {
    expect(present('/f', { userName: null, groupName: null })).toMatchObject({ user: '1000', group: '50' })
  })

  it('describes what a link leads to', () => {
    const link = { type: 'symlink', target: Buffer.from('../x') } as const
    const linked = { path: Buffer.from('/x'), type: 'dir', mode: 0o755 } as const
    const shown = present('/d/l', { ...link, linked })
    expect(shown).toMatchObject({ type: 'symlink', target: '../x', target_path: '/x', target_type: 'dir' })
    expect(shown).toMatchObject({ is_dir: false, target_mode: '0755' })
    const withoutPath = present('/d/l', { ...link, linked: { ...linked, type: 'other', path: null } })
    expect(withoutPath).toMatchObject({ target_type: 'other' })
    expect(withoutPath).not.toHaveProperty('target_path')
    const broken = present('/d/l', link)
    for (const field of ['target_path', 'target_type', 'target_mode']) expect(broken).not.toHaveProperty(field)
  })

  it.each([
    ['/', '/'],
    ['//', '/'],
    ['/a/', 'a'],
    ['/a//b', 'b'],
  ])('%s is called %s', (path, name) => {
    expect(present(path).name).toBe(name)
  })

  it('adds the percent-encoded form for names that are not UTF-8', () => {
    const path = Buffer.from([0x2f, 0xff, 0x25, 0x2b, 0x61])
    expect(present(path)).toMatchObject({ name: '\uFFFD%+a', path: '/\uFFFD%+a', path_encoded: '/%FF%25%2Ba' })
    const link = present('/l', { type: 'symlink', target: Buffer.from([0xfe]) })
    expect(link).toMatchObject({ target: '\uFFFD', target_encoded: '%FE' })
  })

  it('describes every path so that a caller can request it again', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 255 })), (tail) => {
        const path = Buffer.from([0x2f, ...tail])
        const shown = present(path)
        const query = shown.path_encoded ?? encodeURIComponent(shown.path)
        expect(parseQueryPath(`/?path=${query}`)).toEqual(path)
      }),
    )
  })
})

it.each([
  ['/', 'a', '/a'],
  ['/d', 'a', '/d/a'],
  ['/d//', 'a', '/d/a'],
])('in %s, %s is %s', (folder, name, path) => {
  expect(childPath(Buffer.from(folder), Buffer.from(name)).toString()).toBe(path)
})

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DetailedFileEntry } from './file-entry.ts'
import type { GuestLink } from './link.ts'
import { fileErrorCode } from './testing/observe.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'

/** A number that no account of this host has. */
const NAMELESS = 3_141_592

let guest: HostGuest
let link: GuestLink
let home: string

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
  home = join(guest.root, 'home')
  await mkdir(home)
  // Other users may enter this folder.
  await chmod(guest.root, 0o755)
})

afterEach(async () => {
  await guest.stop()
  link.close()
})

const at = (name: string) => join(home, name)
const sh = (script: string) => execFileSync('bash', ['-c', script], { cwd: home })

async function listOf(path: string, options = {}): Promise<DetailedFileEntry[]> {
  const entries: DetailedFileEntry[] = []
  for await (const entry of link.files.list(path, { ...options, deadline: deadlineFor('list') })) entries.push(entry)
  return entries.sort((a, b) => Buffer.compare(a.name, b.name))
}

const namesOf = async (path: string, options = {}) => (await listOf(path, options)).map(({ name }) => String(name))

describe('a list with a depth', () => {
  it('has the paths of all entries down to that depth', async () => {
    sh(`mkdir -p a/b/c a.d && touch a/1 a/b/2 a/b/c/3 a.d/4`)
    expect(await namesOf(home)).toEqual(['a', 'a.d'])
    expect(await namesOf(home, { depth: 1 })).toEqual(['a', 'a.d'])
    expect(await namesOf(home, { depth: 2 })).toEqual(['a', 'a.d', 'a.d/4', 'a/1', 'a/b'])
    const all = ['a', 'a.d', 'a.d/4', 'a/1', 'a/b', 'a/b/2', 'a/b/c', 'a/b/c/3']
    expect(await namesOf(home, { depth: 4 })).toEqual(all)
    expect(await namesOf(home, { depth: 100 })).toEqual(all)
    expect(await namesOf(`${home}//`, { depth: 100 })).toEqual(all)
  })

  it('refuses a depth of 0, over 100, and one that is no number', async () => {
    for (const depth of [0, 101, -1, Number.NaN, 1e20]) {
      expect(await fileErrorCode(listOf(home, { depth }))).toBe('EINVAL')
    }
  })

  it('follows no link, also in a loop', async () => {
    sh(
      `mkdir -p d/e outside && touch outside/unseen && ln -s ../.. d/e/up && ln -s ../outside d/out && ln -s loop loop`,
    )
    expect(await namesOf(home, { depth: 100 })).toEqual([
      'd',
      'd/e',
      'd/e/up',
      'd/out',
      'loop',
      'outside',
      'outside/unseen',
    ])
    // The listed folder itself may be a link, as without a depth.
    expect(await namesOf(at('d/out'), { depth: 2 })).toEqual(['unseen'])
  })

  it('ends in a tree that is deeper than any path, with names of 255 bytes', { tags: ['faults'] }, async () => {
    execFileSync('python3', [
      '-c',
      `import os\nos.chdir('${home}')\nfor i in range(300):\n  os.mkdir('n' * 255); os.chdir('n' * 255)`,
    ])
    const names = await listOf(home, { depth: 100 })
    expect(names).toHaveLength(100)
    expect(names.at(-1)?.name.length).toBe(100 * 256 - 1)
    await link.files.remove(home, { recursive: true })
  })

  it('leaves out what the user may not read, and fails only for the listed folder', { tags: ['faults'] }, async () => {
    sh(
      `mkdir -p open/sub closed/sub nosearch && touch closed/file nosearch/file && chmod 700 closed && chmod 744 nosearch`,
    )
    const names = ['closed', 'nosearch', 'nosearch/file', 'open', 'open/sub']
    const entries = await listOf(home, { depth: 9, user: 'nobody' })
    expect(entries.map(({ name }) => String(name))).toEqual(names)
    // Without search permission only the name and the kind are known.
    expect(entries[2]).toMatchObject({ type: 'file', mode: 0, uid: 65_534, gid: 65_534 })
    expect(await fileErrorCode(listOf(at('closed'), { depth: 9, user: 'nobody' }))).toBe('EACCES')
  })

  it('succeeds while entries come and go', { tags: ['faults'] }, async () => {
    sh(`for i in $(seq 200); do mkdir -p stay$i/x; done`)
    const script = `while [ ! -e ${at('stop')} ]; do for i in 1 2 3 4 5 6 7 8; do
      mkdir -p ${home}/go$i/deep/er; ln -s / ${home}/go$i/link; rm -rf ${home}/go$i; ln -s / ${home}/go$i; rm -f ${home}/go$i
    done; done`
    const ended = once(spawn('bash', ['-c', script]), 'exit')
    for (let round = 0; round < 20; round++) {
      const names = await namesOf(home, { depth: 100 })
      expect(names.filter((name) => /^stay\d+\/x$/.test(name))).toHaveLength(200)
      // Nothing from behind a link to the root.
      expect(names.filter((name) => /\/(etc|proc|usr)/.test(name))).toEqual([])
    }
    await writeFile(at('stop'), '')
    await deadlineFor('the end').race(ended)
  })
})

describe('details of an entry', () => {
  it('name the owners that have a name', async () => {
    await writeFile(at('of-daemon'), '')
    await chown(at('of-daemon'), 1, 2)
    await writeFile(at('of-nameless'), '')
    await chown(at('of-nameless'), NAMELESS, NAMELESS)
    expect(await link.files.stat(at('of-daemon'))).toMatchObject({ uid: 1, userName: 'daemon', groupName: 'bin' })
    expect(await link.files.stat(at('of-nameless'))).toMatchObject({ uid: NAMELESS, userName: null, groupName: null })
  })

  it('tell what a link leads to', async () => {
    await mkdir(at('folder'), { mode: 0o711 })
    await symlink('folder', at('to-folder'))
    await symlink('to-folder', at('to-link'))
    await symlink('nowhere', at('broken'))
    await symlink('loop', at('loop'))
    await symlink('/dev/zero', at('device'))
    const linked = async (name: string, options = {}) => (await link.files.stat(at(name), options)).linked
    const folder = { path: Buffer.from(at('folder')), type: 'dir', mode: 0o711 }
    expect(await linked('to-folder')).toEqual(folder)
    expect(await linked('to-link')).toEqual(folder)
    expect(await linked('device')).toMatchObject({ path: Buffer.from('/dev/zero'), type: 'other' })
    for (const name of ['broken', 'loop', 'folder']) expect(await linked(name)).toBeNull()
    await mkdir(at('closed'), { mode: 0o700 })
    await writeFile(at('closed/file'), '')
    await symlink('closed/file', at('to-closed'))
    expect(await linked('to-closed')).toMatchObject({ type: 'file' })
    expect(await linked('to-closed', { user: 'nobody' })).toBeNull()
    const entries = await listOf(home)
    for (const entry of entries) expect(await link.files.stat(at(String(entry.name)))).toEqual(entry)
  })

  it('come from /proc, where links lead to things without a path', async () => {
    const entries = await listOf('/proc/self', { depth: 2 })
    const output = entries.find(({ name }) => String(name) === 'fd/1')
    expect(output?.type).toBe('symlink')
    expect(output?.linked).toMatchObject({ path: null, type: 'other' })
  })
})

describe('the user of an operation', () => {
  it('owns new files and new parent folders', async () => {
    await chmod(home, 0o777)
    const user = 'nobody'
    await link.files.write(at('p/q/file'), Readable.from(['x']), { parents: true, user })
    await link.files.mkdir(at('m/n'), { parents: true, user })
    await link.files.move(at('p/q/file'), at('r/s/file'), { parents: true, user })
    const entries = await listOf(home, { depth: 9, user })
    expect(entries).toHaveLength(7)
    for (const entry of entries) expect(entry).toMatchObject({ uid: 65_534, userName: 'nobody' })
  })

  it('may be a number without an account', async () => {
    await chmod(home, 0o777)
    await link.files.mkdir(at('d'), { user: String(NAMELESS) })
    expect(await link.files.stat(at('d'))).toMatchObject({ uid: NAMELESS, gid: NAMELESS })
  })

  it("as the owner has root's rights, and gets what is written", async () => {
    const owner = 'nobody'
    await mkdir(at('closed'), { mode: 0o700 })
    await writeFile(at('closed/old'), 'old', { mode: 0o600 })
    await link.files.write(at('closed/p/new'), Readable.from(['x']), { parents: true, owner })
    await link.files.write(at('closed/old'), Readable.from(['new']), { owner })
    await link.files.mkdir(at('closed/m'), { owner })
    await link.files.move(at('closed/p/new'), at('closed/q/new'), { parents: true, owner })
    for (const name of ['old', 'm', 'p', 'q', 'q/new']) {
      expect(await link.files.stat(at(`closed/${name}`), { owner })).toMatchObject({ uid: 65_534, userName: 'nobody' })
    }
    expect(await link.files.stat(at('closed'))).toMatchObject({ uid: 0 })
    expect(await link.files.stat(at('closed/old'))).toMatchObject({ mode: 0o600 })
    await link.files.remove(at('closed'), { recursive: true, owner })
    expect(await readdir(home)).toEqual([])
  })

  it('must exist, or nothing is done', async () => {
    const user = 'nosuchuser'
    const refusal = { name: 'GuestRunError', message: 'no such user: nosuchuser' }
    await expect(link.files.mkdir(at('d'), { user })).rejects.toMatchObject(refusal)
    await expect(link.files.write(at('f'), Readable.from(['x']), { user })).rejects.toMatchObject(refusal)
    await expect(link.files.stat(home, { user })).rejects.toMatchObject(refusal)
    await expect(listOf(home, { user })).rejects.toMatchObject(refusal)
    expect(await readdir(home)).toEqual([])
  })
})

describe('a guest of an earlier release', () => {
  it('lists and describes without names, and refuses a depth', async () => {
    const earlier = await HostGuest.start(5)
    const older = await earlier.connect()
    const folder = join(earlier.root, 'folder')
    await mkdir(folder)
    await symlink('folder', join(earlier.root, 'link'))
    expect(await older.files.stat(join(earlier.root, 'link'))).toMatchObject({
      type: 'symlink',
      uid: 0,
      userName: null,
      groupName: null,
      target: Buffer.from('folder'),
      linked: null,
    })
    const listed = async (depth?: number) => {
      const names: string[] = []
      for await (const { name } of older.files.list(earlier.root, { depth })) names.push(String(name))
      return names.sort()
    }
    expect(await listed()).toEqual(['folder', 'guest.sock', 'link'])
    expect(await fileErrorCode(listed(2))).toBe('ENOSYS')
    await expect(older.files.stat(folder, { user: 'nosuchuser' })).rejects.toThrow('no such user: nosuchuser')
    older.close()
    await earlier.stop()
  })
})

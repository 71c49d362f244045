/** @module-tag long */
import { hash, randomBytes } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, readFile, readlink, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandLine } from './setup/cli.ts'
import { CuttingProxy } from './setup/cutting-proxy.ts'
import { call } from './setup/http.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
let cli: CommandLine
let id: string
beforeAll(async () => {
  offshoot = await borrow()
  cli = await CommandLine.of(offshoot)
  id = await cli.ok(['sandbox', 'create', 'one', '--template', 'minimal'])
})
afterAll(async () => {
  await cli.remove()
  await giveBack()
})

const sha256 = async (path: string) => hash('sha256', await readFile(path))

/** Every entry below a folder: type, mode, modification time and hash of the content. */
async function describeTree(folder: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const name of (await readdir(folder, { recursive: true })).toSorted()) {
    const path = join(folder, name)
    const stats = await lstat(path)
    const mode = (stats.mode & 0o777).toString(8)
    if (stats.isSymbolicLink()) found[name] = await readlink(path)
    else if (stats.isDirectory()) found[name] = mode
    else found[name] = [mode, Math.floor(stats.mtimeMs / 1000), await sha256(path)]
  }
  return found
}

const local = (name: string) => join(cli.folder, name)

describe('cp', () => {
  const LARGE_BYTES = 9_000_000
  beforeAll(async () => {
    await mkdir(local('tree/sub/empty folder'), { recursive: true })
    for (const name of [
      'plain',
      ' spaces ',
      'quote\'"$`*',
      'new\nline',
      '-rf',
      'grün',
      '深い',
      `${'x'.repeat(250)}.txt`,
    ])
      await writeFile(local(`tree/${name}`), `content of ${name}`)
    await mkdir(local(`tree/${'deep/'.repeat(40)}`), { recursive: true })
    await writeFile(local(`tree/${'deep/'.repeat(40)}end`), '')
    await writeFile(local('tree/sub/large'), randomBytes(LARGE_BYTES))
    await writeFile(local('tree/run.sh'), '#!/bin/sh', { mode: 0o755 })
    await writeFile(local('tree/secret'), 'x', { mode: 0o600 })
    await symlink('sub/large', local('tree/link'))
    await symlink('../nowhere', local('tree/sub/dangling'))
    await utimes(local('tree/plain'), 1_000_000_000, 1_000_000_000)
    await chmod(local('tree/sub/empty folder'), 0o700)
  })

  it('copies a folder both ways: odd names, modes, times, links, empty folders', async () => {
    await cli.ok(['cp', 'tree', 'one:/srv/there'])
    expect(await cli.ok(['sandbox', 'exec', 'one', 'cat /srv/there/-rf; stat -c %u%a /srv/there/run.sh'])).toBe(
      'content of -rf0755',
    )
    await cli.ok(['cp', `${id}:/srv/there`, 'back'])
    expect(await describeTree(local('back'))).toEqual(await describeTree(local('tree')))
    expect(await cli.json(['cp', 'one:/srv/there', 'back'])).toMatchObject({ left_out: [] })
    expect(await readdir(local('back/there/sub'))).toHaveLength(3)
  })

  it('continues after broken connections, and brings every byte', async () => {
    for (const [from, to, result] of [
      ['tree', 'one:/srv/cut', null],
      ['one:/srv/cut', 'cut', 'cut'],
      ['one:/srv/cut/sub/large', 'large', null],
    ] as const) {
      const proxy = await CuttingProxy.to(offshoot.credentials.base_url, LARGE_BYTES / 3, 2)
      expect(await cli.run(['cp', from, to], { env: { OFFSHOOT_BASE_URL: proxy.url } })).toMatchObject({ code: 0 })
      expect(proxy.cuts).toBe(2)
      await proxy.close()
      if (result !== null) expect(await describeTree(local(result))).toEqual(await describeTree(local('tree')))
    }
    expect((await readFile(local('large'))).equals(await readFile(local('tree/sub/large')))).toBe(true)
  })

  it('copies single files, between sandboxes, and contents of folders', async () => {
    await cli.ok(['cp', 'tree/run.sh', 'one:/srv/new/'])
    await cli.ok(['cp', 'one:/srv/new/run.sh', 'one:/srv/new/again'])
    await cli.ok(['cp', 'one:/srv/new', 'one:/srv/copied'])
    await cli.ok(['cp', 'tree/sub/.', 'one:/srv/copied'])
    await cli.ok(['cp', 'one:/srv/copied/again', '.'])
    expect((await lstat(local('again'))).mode & 0o777).toBe(0o755)
    expect(await cli.ok(['sandbox', 'exec', 'one', 'cd /srv/copied; ls'])).toBe(
      ['again', 'dangling', 'empty folder', 'large', 'run.sh'].join('\n'),
    )
  })

  it('refuses what cannot be', async () => {
    const refusals = await Promise.all(
      [
        ['tree', 'back'],
        ['tree', 'one:srv'],
        ['one:/srv/there', 'one:/srv/there/below'],
        ['nothing', 'one:/srv'],
        ['one:/nothing', '.'],
        ['tree', 'nobody:/srv'],
        ['one:/srv/there', 'tree/plain'],
        ['tree', 'one:/etc/passwd'],
        ['one:/dev/null', '.'],
      ].map(async (paths) => cli.run(['cp', ...paths])),
    )
    expect(refusals.map(({ code }) => code)).toEqual([2, 2, 2, 3, 3, 3, 1, 1, 1])
    for (const { stderr } of refusals) expect(stderr).toMatch(/^offshoot: [^\n]+\n(Usage: offshoot cp [^\n]+\n)?$/)
  })
})

/** The status that the edge answers to a visitor. */
async function visit(address: string): Promise<number> {
  const { host, pathname, search } = new URL(address)
  const headers = { host, accept: 'application/json' }
  return (await call('GET', offshoot.credentials.edge_url + pathname + search, { headers })).status
}

describe('private ports', () => {
  it('open to those who have a link', async () => {
    expect(await cli.ok(['sandbox', 'set', 'one', '--visibility', 'private', '--ttl', '3h', '-q'])).toBe(id)
    expect(await cli.json(['sandbox', 'set', 'one', '--on-timeout', 'pause'])).toMatchObject({ visibility: 'private' })
    const made = await cli.json(['sandbox', 'link', 'one', '3000', '--label', 'review', '--expires', '2h'])
    expect(await visit(new URL(made.url).origin)).toBe(401)
    // The edge lets the visitor pass, but no server listens there.
    expect(await visit(made.url)).toBe(502)
    const other = await cli.ok(['sandbox', 'link', id.slice(0, 8), '3000'])
    expect(await cli.ok(['sandbox', 'links', 'one', '3000'])).toMatch(new RegExp(`^${made.id} +review +\\d+s +`, 'm'))
    expect(await cli.ok(['sandbox', 'links', 'one', '3000', '--rm', 'review'])).toBe(made.id)
    await until('the end of the link', async () => (await visit(made.url)) === 401)
    expect(await visit(other)).toBe(502)
    expect((await cli.json(['sandbox', 'links', 'one', '3000'])).map(({ id: link }: { id: string }) => link)).toEqual([
      await cli.ok(['sandbox', 'links', 'one', '3000', '-q']),
    ])
    expect(await cli.run(['sandbox', 'links', 'one', '3000', '--rm', 'review'])).toMatchObject({ code: 3, stdout: '' })
    await cli.ok(['sandbox', 'set', 'one', '--visibility', 'public'])
  })
})

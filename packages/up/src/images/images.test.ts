import { execFile, spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { templatesFolder } from '../base/repository.ts'
import { hashTexts, hashTree } from './content-hash.ts'
import { cpioArchive } from './cpio-archive.ts'
import { sourceLines, sourcesOf } from './debian-mirror.ts'
import { imageSteps } from './image-steps.ts'
import { loadOrder, readDepends } from './kernel-modules.ts'
import { readRecipes } from './recipe.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-images-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** The part of a kernel module that we read. */
const moduleWith = (depends: string) => Buffer.from(`ELF\0license=GPL\0depends=${depends}\0name=x\0`)

describe('kernel modules', () => {
  it('are loaded after those they depend on, each once, the builtin ones not at all', async () => {
    const depends = { net: 'ring,failover-x', ring: '', failover_x: 'ring,core', blk: 'ring' }
    const paths = new Map<string, string>()
    for (const [name, list] of Object.entries(depends)) {
      const path = join(folder, `${name}.ko`)
      await writeFile(path, moduleWith(list))
      paths.set(name, path)
    }
    const order = await loadOrder({ paths, builtin: new Set(['core']) }, ['net', 'blk'])
    expect(order.map((module) => module.file)).toEqual(['ring.ko', 'failover_x.ko', 'net.ko', 'blk.ko'])
  })

  it('must exist', async () => {
    await expect(loadOrder({ paths: new Map(), builtin: new Set() }, ['nope'])).rejects.toThrow('no module nope')
    expect(() => readDepends(Buffer.from('text'))).toThrow('not a kernel module')
  })
})

describe('a host that joins a fleet', () => {
  it('builds everything but what only control serves', async () => {
    const ofHost = new Set((await imageSteps(templatesFolder, ['minimal'], true)).map(({ name }) => name))
    const all = (await imageSteps(templatesFolder, ['minimal'])).map(({ name }) => name)
    expect(all.filter((name) => !ofHost.has(name))).toEqual(['console', 'docs'])
  })
})

const hasCpio = spawnSync('sh', ['-c', 'command -v cpio']).status === 0

describe('cpioArchive', () => {
  // Optional here, because the kernel of every VM test reads such an archive too.
  it.skipIf(!hasCpio)('is what cpio(1) reads', async () => {
    const archive = cpioArchive([
      { kind: 'folder', path: 'dev', mode: 0o755 },
      { kind: 'character-device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 },
      { kind: 'file', path: 'init', mode: 0o755, content: Buffer.from('#!/bin/sh\n') },
      { kind: 'file', path: 'odd', mode: 0o644, content: Buffer.from('12345') },
    ])
    const path = join(folder, 'a.cpio')
    await writeFile(path, archive)
    const { stdout } = await promisify(execFile)('sh', ['-c', 'cpio -itvn <"$0" 2>/dev/null', path])
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => line.split(/\s+/)[0])).toEqual(['drwxr-xr-x', 'crw-------', '-rwxr-xr-x', '-rw-r--r--'])
    expect(lines[1]).toMatch(/5,\s+1 .* dev\/console$/)
    expect(lines[3]).toMatch(/ 5 .* odd$/)
  })
})

describe('hashTree', () => {
  it('counts names, content, links and executable bits', async () => {
    await mkdir(join(folder, 'd'))
    await writeFile(join(folder, 'd/a'), 'x')
    const seen = new Set([await hashTree(folder)])
    const change = async (what: () => Promise<unknown>) => {
      await what()
      const hash = await hashTree(folder)
      expect(seen).not.toContain(hash)
      seen.add(hash)
    }
    await change(() => writeFile(join(folder, 'd/a'), 'y'))
    await change(() => chmod(join(folder, 'd/a'), 0o755))
    await change(() => symlink('a', join(folder, 'd/l')))
    await change(() => writeFile(join(folder, 'b'), ''))
    const without = await hashTree(folder, new Set(['b']))
    await rm(join(folder, 'b'))
    expect(await hashTree(folder)).toBe(without)
  })

  it('tells where one text ends and the next begins', () => {
    expect(hashTexts('ab', 'c')).not.toBe(hashTexts('a', 'bc'))
  })
})

describe('sourceLines', () => {
  const targets = [
    'Debian|http://m/debian/|bookworm|main',
    'Debian|http://m/debian/|bookworm-updates|main',
    'Debian|http://m/debian-security/|bookworm-security|main',
    'Debian|http://m/debian/|bookworm|main',
    'Debian Backports|http://m/debian/|bookworm-backports|main',
    'Other|http://o/|bookworm|main',
  ].join('\n')

  it('takes the release, its updates and its security updates from where the host has them', () => {
    expect(sourceLines(targets, 'bookworm')).toEqual([
      'deb http://m/debian/ bookworm main',
      'deb http://m/debian/ bookworm-updates main',
      'deb http://m/debian-security/ bookworm-security main',
    ])
  })

  it('takes none when the release itself is not among them', () => {
    expect(sourceLines('Debian|http://m/|bookworm-updates|main\n', 'bookworm')).toEqual([])
  })
})

describe('sourcesOf', () => {
  it('name another release at the same mirrors, with its updates but without its backports', () => {
    const sources = ['', '-updates', '-backports'].map((suffix) => `deb http://m/debian/ bookworm${suffix} main`)
    const security = 'deb http://s/ bookworm-security main'
    expect(sourcesOf([...sources, security], { from: 'bookworm', to: 'trixie' })).toEqual([
      'deb http://m/debian/ trixie main',
      'deb http://m/debian/ trixie-updates main',
      'deb http://s/ trixie-security main',
    ])
  })
})

describe('recipes', () => {
  it('that we ship are whole', async () => {
    const recipes = await readRecipes(templatesFolder, null)
    expect(recipes.map(({ name }) => name)).not.toContain('python')
    expect(await readRecipes(templatesFolder, ['python'])).toMatchObject([{ name: 'python', only_when_named: true }])
    expect(recipes.map((recipe) => recipe.name)).toEqual([
      'app',
      'base',
      'code-interpreter',
      'minimal',
      'postgres-16',
      'postgres-16-16g',
      'postgres-16-4g',
    ])
    expect(recipes[1]).toMatchObject({ cpu: 1, memory_mb: 512, disk_mb: 4096 })
  })

  it('are refused by name when there is none', async () => {
    await expect(readRecipes(templatesFolder, ['nope'])).rejects.toThrow(
      'There is no template "nope"; there are app, base',
    )
  })
})

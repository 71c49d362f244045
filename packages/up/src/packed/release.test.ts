import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SetupFailure } from '../base/setup-failure.ts'
import { findRelease, layOutRelease, type PackedRelease } from './release.ts'

const run = promisify(execFile)
const named = (id: string): PackedRelease => ({ id, version: '1.0.0', commit: 'unknown' })

describe('a packed release', () => {
  let home: string
  let archive: string
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'offshoot-'))
    await writeFile(join(home, 'content'), 'x')
    archive = join(home, 'release.tar.gz')
    await run('tar', ['-czf', archive, '-C', home, 'content'])
  })
  afterEach(() => rm(home, { recursive: true, force: true }))

  it('is laid out once, by whoever comes first', async () => {
    const release = named('1.0.0-a')
    expect(await findRelease(home, release)).toBeNull()
    const places = await Promise.all(Array.from({ length: 4 }, () => layOutRelease(home, release, archive)))
    expect(new Set(places)).toEqual(new Set([join(home, 'releases/1.0.0-a')]))
    expect(await readFile(join(places[0] ?? '', 'content'), 'utf8')).toBe('x')
    expect(await readdir(join(home, 'releases'))).toEqual(['1.0.0-a'])
    await rm(archive)
    expect(await layOutRelease(home, release, archive)).toBe(places[0])
    expect(await findRelease(home, release)).toBe(places[0])
  })

  it('replaces earlier ones, except the last one and those that still run', async () => {
    const releases = join(home, 'releases')
    const old = ['older', 'runs', 'last', '.new-killed', '.new-recent']
    for (const [index, name] of old.entries()) {
      await mkdir(join(releases, name), { recursive: true })
      const usedAt = name === '.new-recent' ? new Date() : new Date(2020, 1, 1 + index)
      await utimes(join(releases, name), usedAt, usedAt)
    }
    const service = execFile('sh', ['-c', 'echo started; read line', 'sh', `${releases}/runs/packages/main.ts`])
    await new Promise((resolve) => service.stdout?.once('data', resolve))
    await layOutRelease(home, named('new'), archive)
    expect(new Set(await readdir(releases))).toEqual(new Set(['.new-recent', 'last', 'new', 'runs']))
    service.stdin?.end()
  })

  it('that cannot be unpacked is not there, and one sentence says why', async () => {
    await writeFile(archive, 'damaged')
    await expect(layOutRelease(home, named('bad'), archive)).rejects.toThrow('tar ended with')
    expect(await readdir(join(home, 'releases'))).toEqual([])
    const file = join(home, 'content')
    const refusal = layOutRelease(file, named('a'), archive)
    await expect(refusal).rejects.toThrow(SetupFailure)
    await expect(refusal).rejects.toThrow(/^Offshoot cannot unpack itself at .*\(ENOTDIR\)\.$/)
  })
})

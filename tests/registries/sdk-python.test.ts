/** The package for Python: built, installed in an empty environment, and used there. */
import { execFile, type ExecFileOptions } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GitHost } from '../setup/git-host.ts'
import { Offshoot, type StartOptions } from '../setup/offshoot.ts'
import { useServerWithRegistries } from '../setup/published-client-server.ts'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')
const project = join(repository, 'python')
const RUN_MS = 900_000
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
const GENERATED = ['src/offshoot/types.py', 'src/offshoot/_sync', 'tests/_sync']

/** The Python of a virtual environment with what builds and checks the package, made once for each list of it. */
async function installTools(): Promise<string> {
  const list = join(project, 'tools/requirements.txt')
  const hash = createHash('sha256')
    .update(await readFile(list))
    .digest('hex')
  const folder = join(repository, '.offshoot/clients', `python-tools-${hash.slice(0, 12)}`)
  const python = join(folder, 'bin/python')
  const mark = join(folder, 'installed')
  const isInstalled = await access(mark).then(
    () => true,
    () => false,
  )
  if (isInstalled) return python
  await run('python3', ['-m', 'venv', folder])
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', list])
  await writeFile(mark, '')
  return python
}

/** What a program prints, also if it fails. */
async function outputOf(file: string, args: readonly string[], options: ExecFileOptions = {}): Promise<string> {
  const { stdout } = await run(file, args, options).catch((error: { stdout: string }) => error)
  return String(stdout)
}

const check = (tools: string, ...args: string[]) => outputOf(tools, ['-m', ...args], { cwd: project })

const ALL_PASSED = /^\d+ passed, \d+ deselected in/m
/** Tests that need further templates, each with a server of its own. */
const WITH_TEMPLATES = { code: 'code-interpreter', databases: 'postgres-16' } as const

/** A server that this file starts and ends. */
const own = (name: string, options: () => StartOptions) => ({
  start: () => Offshoot.start(`sdk-python-${name}`, options()),
  end: (offshoot: Offshoot) => offshoot.destroy(),
})

/** A program that prints its version, in two branches. */
async function serveApp(): Promise<GitHost> {
  const git = await GitHost.start()
  for (const [branch, version] of [
    ['main', 'one'],
    ['next', 'two'],
  ] as const) {
    const program = `console.log('version ${version}'); require('node:http').createServer((_, answer) => answer.end()).listen(process.env.PORT)`
    await git.commit('app', { 'server.js': program, 'package.json': '{"private":true}' }, { branch })
  }
  return git
}

describe('the SDK for Python', () => {
  let folder: string
  let tools: string
  let git: GitHost
  /** The Python of a clean environment with the wheel. */
  let python: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-python-'))
    tools = await installTools()
    git = await serveApp()
  })
  afterAll(() => git?.stop())
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const server = useServerWithRegistries(
    own('apps', () => ({ templates: ['minimal', 'base', 'app'], env: { OFFSHOOT_EGRESS_ALLOW: git.exception } })),
  )

  /** The report of the package's tests, which use its wheel. @param names an expression of pytest */
  async function report({ credentials, dataDir }: Offshoot, names: string): Promise<string> {
    const { base_url: url, api_key: key, jwt } = credentials
    const env = {
      ...process.env,
      OFFSHOOT_BASE_URL: url,
      OFFSHOOT_API_KEY: key,
      OFFSHOOT_TEST_JWT: jwt,
      OFFSHOOT_TEST_MAIL: join(dataDir, 'control/mail'),
      OFFSHOOT_TEST_GIT_URL: git.urlOf('app'),
      PYTHONDONTWRITEBYTECODE: '1',
    }
    const options = { cwd: join(folder, 'program'), env, timeout: RUN_MS }
    return outputOf(python, ['-m', 'pytest', '-k', names], options)
  }

  it('has generated files that match the API and the asynchronous client', async () => {
    const made = join(folder, 'generated')
    await mkdir(made)
    const print = [join(repository, 'bin/lib/openapi-document.mjs')]
    const { stdout: document } = await run(process.execPath, print, { cwd: repository, maxBuffer: MAX_DOCUMENT_BYTES })
    const generating = run(tools, [join(project, 'tools/generate.py'), made])
    generating.child.stdin?.end(document)
    await generating
    for (const path of GENERATED) {
      const diff = ['-r', '-x', '__pycache__', '-x', '_platform.py', '-x', '__init__.py']
      expect(await outputOf('diff', [...diff, join(made, path), join(project, path)])).toBe('')
    }
  })

  it('is typed and formatted', async () => {
    const cache = join(folder, 'cache')
    expect(await check(tools, 'mypy', '--cache-dir', cache, 'src', 'tools', 'tests')).toMatch(/^Success/)
    expect(await check(tools, 'ruff', 'check', '--no-cache', '.')).toMatch(/^All checks passed/)
    expect(await check(tools, 'ruff', 'format', '--no-cache', '--check', '.')).toMatch(/^\d+ files already formatted/)
  })

  it('works from its wheel in a clean environment', { timeout: RUN_MS }, async () => {
    const wheels = join(folder, 'wheels')
    const build = ['wheel', '--quiet', '--no-deps', '--no-build-isolation', '--wheel-dir', wheels, project]
    await run(tools, ['-m', 'pip', '--disable-pip-version-check', ...build])
    const [wheel = ''] = await readdir(wheels)
    expect(wheel).toMatch(/^offshoot-.*-py3-none-any\.whl$/)
    const clean = join(folder, 'clean')
    await run('python3', ['-m', 'venv', clean])
    python = join(clean, 'bin/python')
    const install = ['install', '--quiet', '--disable-pip-version-check', join(wheels, wheel), 'pytest==9.2.0']
    await run(python, ['-m', 'pip', ...install])
    // A copy, so that the tests import what was installed.
    for (const name of ['tests', 'examples', 'README.md', 'pyproject.toml']) {
      await cp(join(project, name), join(folder, 'program', name), { recursive: true })
    }
    for (const name of ['docs/sdk-python.md', 'docs/examples'])
      await cp(join(repository, name), join(folder, name), { recursive: true })
    const others = Object.keys(WITH_TEMPLATES).map((name) => `not ${name}`)
    expect(await report(server(), others.join(' and '))).toMatch(ALL_PASSED)
  })

  describe.each(Object.entries(WITH_TEMPLATES))('with a server for the tests of %s', (name, template) => {
    const further = useServerWithRegistries(own(name, () => ({ templates: ['minimal', template] })))

    it('works, too', { timeout: RUN_MS }, async () => {
      expect(await report(further(), name)).toMatch(ALL_PASSED)
    })
  })
})

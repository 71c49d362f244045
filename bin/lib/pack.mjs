/**
 * Builds the npm package `offshoot` (docs/adr/0034-npm-package.md): node bin/lib/pack.mjs FOLDER
 *
 * Prints the path of the tarball, FOLDER/offshoot-VERSION.tgz. It contains:
 *   bin/offshoot.js   the command
 *   dist/             compiled code, for the Node.js of the machine
 *   release.tar.gz    the runtime part of the repository, which `offshoot up` lays out, with the built console
 *                     and documentation; release.json names it
 *
 * Equal sources give an equal archive. Works without git; the commit is `unknown` then.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const HASH_CHARS = 12

/** Our modules use this function of Node.js 22; the package starts with the Node.js of the machine. */
const BANNER = `Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new this((...both) => { [resolve, reject] = both })
  return { promise, resolve, reject }
}`

/** The processes that the supervisor starts, and itself. What they depend on follows from their package.json. */
const PROCESSES = ['up', 'agent', 'control', 'edge', 'e2b']
/** Everything else of the runtime part. Folders are taken as a whole. */
const FILES = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  'LICENSE',
  'bin/up',
  'bin/lib/project-node.sh',
  'templates',
]
/** What the release contains built, with the program that builds it. */
const BUILT = {
  services: 'bin/lib/bundle-services.mjs',
  console: 'packages/console/build.mjs',
  docs: 'packages/docs/src/main.ts',
}
const GUEST = ['guest/Makefile', 'guest/src']
/** Tests, and what builds leave. */
const LEFT_OUT = /(\.test\.ts|\.log)$|(^|\/)(test|testing|node_modules|build)(\/|$)/

async function main([folder]) {
  if (folder === undefined) throw new Error('usage: node bin/lib/pack.mjs FOLDER')
  const stage = await mkdtemp(join(tmpdir(), 'offshoot-pack-'))
  try {
    await compile(stage)
    await buildParts(stage)
    await packRelease(stage)
    await describePackage(stage)
    await mkdir(folder, { recursive: true })
    const npm = join(root, 'node_modules/npm/bin/npm-cli.js')
    const { stdout } = await run(process.execPath, [npm, 'pack', '--json', '--pack-destination', resolve(folder)], {
      cwd: stage,
    })
    const [packed] = Object.values(JSON.parse(stdout))
    console.log(join(resolve(folder), basename(packed.filename)))
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}

/**
 * `ws` loads TLS when it is loaded itself. That takes as long as all of our modules, and a server without TLS needs none
 * of it (docs/adr/0033-command-line.md).
 */
const lazyTls = {
  name: 'lazy-tls',
  resolveId: (source, importer = '') =>
    importer.includes('/node_modules/ws/') && ['https', 'tls'].includes(source) ? `\0lazy-${source}` : null,
  load: (id) =>
    id.startsWith('\0lazy-')
      ? `module.exports = new Proxy({}, { get: (_, name) => require('node:${id.slice('\0lazy-'.length)}')[name] })`
      : null,
}

/** Dependencies are compiled in, so the package has none. */
async function compile(stage) {
  const input = { up: join(root, 'packages/up/src/packed/main.ts'), cli: join(root, 'packages/cli/src/main.ts') }
  const bundle = await rolldown({ input, platform: 'node', cwd: root, plugins: [lazyTls] })
  await bundle.write({
    dir: join(stage, 'dist'),
    format: 'esm',
    banner: BANNER,
    minify: true,
    chunkFileNames: '[name]-[hash].js',
  })
  await bundle.close()
  await mkdir(join(stage, 'bin'))
  await cp(join(root, 'bin/lib/offshoot-entry.mjs'), join(stage, 'bin/offshoot.js'))
}

/** The machine that runs the release has no tools to build these. */
async function buildParts(stage) {
  for (const [folder, program] of Object.entries(BUILT)) {
    const env = { ...process.env, NODE_ENV: 'production' }
    await run(process.execPath, [join(root, program), join(stage, folder)], { env })
  }
}

async function packRelease(stage) {
  const { version } = await readJson('package.json')
  const commit = await run('git', ['-C', root, 'rev-parse', 'HEAD']).then(
    ({ stdout }) => stdout.trim(),
    () => 'unknown',
  )
  const record = join(stage, 'release.json')
  await writeFile(record, `${JSON.stringify({ version, commit })}\n`)
  const list = join(stage, 'files')
  await writeFile(list, `${(await releaseFiles()).join('\n')}\n`)
  const tar = join(stage, 'release.tar')
  const equal = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']
  await run('tar', [...equal, '-cf', tar, '-C', root, '-T', list, '-C', stage, 'release.json', ...Object.keys(BUILT)])
  const hash = createHash('sha256')
    .update(await readFile(tar))
    .digest('hex')
  await run('gzip', ['-9', '--no-name', tar])
  const id = `${version}-${hash.slice(0, HASH_CHARS)}`
  await writeFile(record, `${JSON.stringify({ id, version, commit }, null, 2)}\n`)
  await rm(list)
  for (const folder of Object.keys(BUILT)) await rm(join(stage, folder), { recursive: true })
}

/** Paths below the root. The package.json of every workspace is there, because `npm ci` compares them with the lock file. */
async function releaseFiles() {
  const workspaces = (await readdir(join(root, 'packages'))).toSorted()
  const runtime = await runtimePackages()
  const paths = [
    ...FILES,
    ...GUEST,
    'packages/agent/native',
    ...workspaces.map((name) => `packages/${name}/package.json`),
    ...[...runtime].map((name) => `packages/${name}/src`),
  ]
  const found = await Promise.all(paths.map(filesIn))
  return found.flat().toSorted((a, b) => (a < b ? -1 : 1))
}

async function runtimePackages() {
  const found = new Set()
  const add = async (name) => {
    if (found.has(name)) return
    found.add(name)
    const { dependencies = {} } = await readJson(`packages/${name}/package.json`)
    for (const dependency of Object.keys(dependencies))
      if (dependency.startsWith('@offshoot/')) await add(dependency.slice('@offshoot/'.length))
  }
  for (const name of PROCESSES) await add(name)
  return found
}

async function filesIn(path) {
  if (LEFT_OUT.test(path)) return []
  if (!(await stat(join(root, path))).isDirectory()) return [path]
  const names = await readdir(join(root, path))
  return (await Promise.all(names.map((name) => filesIn(`${path}/${name}`)))).flat()
}

async function describePackage(stage) {
  const { version, description, license } = await readJson('package.json')
  const content = {
    name: 'offshoot',
    version,
    description,
    license,
    type: 'module',
    bin: { offshoot: 'bin/offshoot.js' },
    files: ['bin', 'dist', 'release.json', 'release.tar.gz'],
    engines: { node: '>=20' },
  }
  await writeFile(join(stage, 'package.json'), `${JSON.stringify(content, null, 2)}\n`)
  for (const name of ['LICENSE', 'README.md']) await copyFile(join(root, name), join(stage, name))
}

async function readJson(path) {
  return JSON.parse(await readFile(join(root, path), 'utf8'))
}

await main(process.argv.slice(2))

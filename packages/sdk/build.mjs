/**
 * Builds the npm package `@offshoot/sdk`: node packages/sdk/build.mjs FOLDER
 *
 * Writes what is published to FOLDER, which must not exist, by default to `dist` beside this file: modules for every
 * JavaScript engine, their types, and a `package.json` that leads to them. The repository itself imports the sources.
 */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '../..')

/** Fields of `package.json` that hold for sources and package alike. */
const KEPT = [
  'name',
  'version',
  'description',
  'license',
  'type',
  'sideEffects',
  'peerDependencies',
  'peerDependenciesMeta',
  'engines',
]

async function main([folder]) {
  const target = folder === undefined ? join(here, 'dist') : resolve(folder)
  if (folder === undefined) await rm(target, { recursive: true, force: true })
  await mkdir(target)
  await compile(target)
  await describePackage(target)
  await copyFile(join(root, 'LICENSE'), join(target, 'LICENSE'))
  await copyFile(join(here, 'README.md'), join(target, 'README.md'))
  console.log(target)
}

/** The descriptions are in the types. In the modules they would be there twice. */
async function compile(target) {
  await runCompiler(target, '--declaration', 'false', '--removeComments')
  await runCompiler(target, '--emitDeclarationOnly')
  for (const name of await readdir(target, { recursive: true })) {
    if (name.endsWith('.d.ts')) await nameCompiledModules(join(target, name))
  }
}

async function runCompiler(target, ...options) {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [compiler, '--project', here, '--outDir', target, ...options]).catch(({ stdout }) => {
    throw new Error(`the SDK does not compile:\n${stdout}`)
  })
}

/** The compiler renames imports in modules only, but not every tool finds `x.d.ts` for `x.ts`. */
async function nameCompiledModules(path) {
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replaceAll(/((?:from |import\()['"]\.{1,2}\/[^'"]*)\.ts(?=['"])/g, '$1.js'))
}

async function describePackage(target) {
  const source = JSON.parse(await readFile(join(here, 'package.json'), 'utf8'))
  const kept = Object.fromEntries(KEPT.flatMap((name) => (name in source ? [[name, source[name]]] : [])))
  const entries = Object.entries(source.exports).map(([entry, path]) => [entry, compiled(path)])
  const content = { ...kept, exports: { ...Object.fromEntries(entries), './package.json': './package.json' } }
  await writeFile(join(target, 'package.json'), `${JSON.stringify(content, null, 2)}\n`)
}

/** `./src/index.ts` becomes `./index.js` with its types. */
function compiled(path) {
  const name = path.replace(/^\.\/src\//, './').replace(/\.ts$/, '')
  return { types: `${name}.d.ts`, default: `${name}.js` }
}

await main(process.argv.slice(2))

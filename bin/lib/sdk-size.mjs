/**
 * Checks the size of the SDK (docs/adr/0031-sdk.md): node bin/lib/sdk-size.mjs
 *
 * Fails if what a program loads, minified and compressed, or the packed package exceeds its limit, or if a program that
 * imports the SDK and uses nothing of it would load anything.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const KIB = 1024
const MAX_BUNDLE_KIB = 30
/** Most of it are types with their descriptions, which no program loads. */
const MAX_TARBALL_KIB = 100

/** Minified. Ignores that `package.json` promises the absence of side effects. */
async function bundled(entry) {
  const bundle = await rolldown({ input: entry, platform: 'browser', treeshake: { moduleSideEffects: true } })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  return output[0].code.trim()
}

async function tarballKib(folder) {
  const npm = join(root, 'node_modules/npm/bin/npm-cli.js')
  const { stdout } = await run(process.execPath, [npm, 'pack', '--dry-run', '--json'], { cwd: folder })
  const [packed] = Object.values(JSON.parse(stdout))
  return packed.size / KIB
}

const folder = await mkdtemp(join(tmpdir(), 'offshoot-sdk-size-'))
try {
  const built = join(folder, 'built')
  await run(process.execPath, [join(root, 'packages/sdk/build.mjs'), built])
  const tarball = await tarballKib(built)
  const bundle = gzipSync(await bundled(join(built, 'index.js')), { level: 9 }).length / KIB
  const unused = join(built, 'unused.js')
  await writeFile(unused, "import './index.js'")
  const left = await bundled(unused)
  console.log(
    `bundle ${bundle.toFixed(1)} KiB of ${MAX_BUNDLE_KIB}, tarball ${tarball.toFixed(1)} of ${MAX_TARBALL_KIB}`,
  )
  if (left !== '') console.log(`left of an import without use: ${left}`)
  if (bundle > MAX_BUNDLE_KIB || tarball > MAX_TARBALL_KIB || left !== '') process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true })
}

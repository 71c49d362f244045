/** Runs a bundled worker in workerd, and prints what it answers. Arguments: the bundle's path, the address, the key. */
import { readFile } from 'node:fs/promises'
import { Miniflare } from 'miniflare'

const [path, baseUrl, apiKey] = process.argv.slice(2)
const runtime = new Miniflare({
  modules: true,
  // A path would have to be below this folder.
  script: await readFile(path, 'utf8'),
  compatibilityDate: '2026-01-01',
  bindings: { baseUrl, apiKey },
})
try {
  const answer = await runtime.dispatchFetch('http://worker/')
  console.log(await answer.text())
} finally {
  await runtime.dispose()
}

/** @module-tag long */
/** A real dev server with hot reload in a sandbox, used from a browser. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { Browser, hasBrowser } from './setup/browser.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { previewOf, visit } from './setup/preview.ts'
import { SandboxFiles } from './setup/sandbox-files.ts'
import { until } from './setup/until.ts'

const modules = resolve(import.meta.dirname, '../node_modules')
const PORT = 5173

const FILES = {
  'index.html': '<!doctype html><title>app</title><h1 id="shown"></h1><script type="module" src="/main.js"></script>',
  'main.js':
    "import { words } from './words.js'\nconst show = (text) => (document.querySelector('#shown').textContent = text)\n" +
    "show(words)\nimport.meta.hot?.accept('./words.js', (now) => show(now.words))\n",
  'words.js': "export const words = 'first'\n",
  // A user's ordinary configuration, with nothing specific to previews.
  'vite.config.js': `export default { server: { port: ${PORT}, strictPort: true } }\n`,
  'package.json': '{"type":"module"}',
}

/** A package and those of its dependencies that are installed here. */
async function closureOf(name: string, found = new Set<string>()): Promise<Set<string>> {
  if (found.has(name) || !existsSync(join(modules, name))) return found
  found.add(name)
  const about = JSON.parse(await readFile(join(modules, name, 'package.json'), 'utf8')) as Record<string, object>
  const needed = Object.keys({ ...about['dependencies'], ...about['optionalDependencies'] })
  for (const each of needed) await closureOf(each, found)
  return found
}

describe('Vite in a sandbox', () => {
  let offshoot: Offshoot
  let files: SandboxFiles
  let id: string

  beforeAll(async () => {
    offshoot = await borrow()
    id = (await offshoot.create({ template: 'base' })).id
    files = new SandboxFiles(offshoot, id)
    await offshoot.exec(id, 'mkdir -p /app/node_modules')
    const tar = spawn('tar', ['-C', modules, '-ch', '--exclude=*.map', ...(await closureOf('vite'))], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const archive = await buffer(tar.stdout)
    expect((await files.ask('PUT', 'fs/archive?path=/app/node_modules', { body: archive })).status).toBe(200)
    for (const [name, body] of Object.entries(FILES)) {
      expect((await files.ask('PUT', `fs?path=/app/${name}`, { body })).status).toBe(200)
    }
    const started = { cmd: 'cd /app && node node_modules/vite/bin/vite.js', background: true }
    await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body: started })
    await until('the dev server', async () => (await visit(offshoot, id, PORT)).status === 200, 150_000, 200)
  })

  afterAll(giveBack)

  const write = (words: string) =>
    files.ask('PUT', 'fs?path=/app/words.js', { body: `export const words = '${words}'\n` })

  it('tells a page of an edit over its WebSocket', async () => {
    const client = (await visit(offshoot, id, PORT, '/@vite/client')).text
    const token = /const wsToken = "([^"]+)"/.exec(client)?.[1] ?? ''
    // Vite only reports changes of files that a page has loaded.
    for (const path of ['/main.js', '/words.js']) expect((await visit(offshoot, id, PORT, path)).status).toBe(200)
    const { url, host } = previewOf(offshoot, id, PORT)
    const socket = new WebSocket(`${url.replace('http', 'ws')}/?token=${token}`, 'vite-hmr', { headers: { host } })
    const heard: string[] = []
    socket.on('message', (data) => heard.push((data as Buffer).toString()))
    await until('the connection', () => heard.some((message) => message.includes('connected')))
    await write('second')
    await until('the update', () =>
      heard.some((message) => message.includes('"update"') && message.includes('words.js')),
    )
    socket.close()
  })

  it.runIf(hasBrowser)('shows an edit in a browser without loading the page again', async () => {
    await write('first')
    const browser = await Browser.start()
    try {
      const tab = await browser.open(`http://${previewOf(offshoot, id, PORT).host}/`)
      const shows = (words: string) => async () =>
        (await tab.evaluate("document.querySelector('#shown')?.textContent")) === words
      await until('the page', shows('first'), 60_000)
      await tab.evaluate('window.stays = true')
      await until(
        'the edit to show',
        async () => {
          await write('edited')
          return shows('edited')()
        },
        60_000,
        1_000,
      )
      expect(await tab.evaluate('window.stays')).toBe(true)
    } finally {
      await browser.stop()
    }
  })
})

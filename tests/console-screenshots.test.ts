/** @module-tag long */
/** The pictures of the console in the README. `OFFSHOOT_WRITE_SCREENSHOTS=1` writes them. */
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { Console } from './setup/console.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import { until } from './setup/until.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = 'docs/images'
const MAX_BYTES = 150 * 1024
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const writes = process.env['OFFSHOOT_WRITE_SCREENSHOTS'] === '1'

/** Pixels of an image. */
const sizeOf = (png: Buffer) => ({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) })

it('the README shows images that exist, each small enough to load at once', async () => {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8')
  const names = [...text.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, name = '']) => name)
  expect(names.filter((name) => name.startsWith(`${FOLDER}/`))).toHaveLength(2)
  expect(names.filter((name) => !existsSync(join(ROOT, name)))).toEqual([])
  for (const name of names.filter((each) => each.endsWith('.png'))) {
    const png = await readFile(join(ROOT, name))
    expect(png.subarray(0, PNG.length).equals(PNG)).toBe(true)
    expect(png.length).toBeLessThan(MAX_BYTES)
  }
})

describe.skipIf(!hasBrowser)('screenshots', () => {
  let offshoot: Offshoot
  let console: Console
  beforeAll(async () => {
    offshoot = await borrow()
    console = await Console.start(offshoot)
    await console.signIn()
  })
  afterAll(async () => {
    await console?.stop()
    await giveBack()
  })

  async function take(name: string) {
    const png = await console.page.screenshot({ animations: 'disabled', caret: 'hide' })
    if (writes) {
      await mkdir(join(ROOT, FOLDER), { recursive: true })
      await writeFile(join(ROOT, FOLDER, name), png)
    }
    return { isPng: png.subarray(0, PNG.length).equals(PNG), size: sizeOf(png), isSmall: png.length < MAX_BYTES }
  }
  const good = () => ({ isPng: true, size: console.page.viewportSize(), isSmall: true })

  it('of the lineage: a deleted ancestor, a snapshot, forks of forks', async () => {
    const { page } = console
    const post = async (path: string, body: object) =>
      ((await offshoot.request('POST', `/v1/sandboxes/${path}`, { body })).body as { id: string }).id
    const fork = (of: string, name: string) => post(`${of}/fork`, { metadata: { name } })
    const { id: root } = await offshoot.create({ template: 'minimal', metadata: { name: 'clone and install' } })
    await post(`${root}/snapshots`, { name: 'installed' })
    const attempts = []
    for (const name of ['attempt 1', 'attempt 2', 'attempt 3']) attempts.push(await fork(root, name))
    const [, best = ''] = attempts
    for (const name of ['fix imports', 'rewrite parser']) await fork(best, name)
    await offshoot.delete(root)
    await console.goto(`/sandboxes/${best}/lineage`)
    const node = (name: RegExp) => page.getByRole('application', { name: 'Lineage' }).getByRole('group', { name })
    await node(/clone and install, deleted/).waitFor()
    await node(/attempt 3, running/)
      .getByText('disk')
      .waitFor()
    await node(/rewrite parser, running/)
      .getByText('disk')
      .waitFor()
    await node(/attempt 2, running/).click()
    expect(await take('lineage.png')).toEqual(good())
  })

  it('of a terminal', async () => {
    const { page } = console
    const { id } = await offshoot.create({ template: 'base', metadata: { name: 'workbench' } })
    await console.goto(`/sandboxes/${id}/terminal`)
    const rows = page.locator('.xterm-rows')
    await rows.getByText('#').first().waitFor()
    const prompts = async () => (await rows.innerText()).split(':~#').length - 1
    for (const command of ['uname -sr', 'python3 -c "print(sum(range(101)))"', 'node --version', 'df -h / | tail -1']) {
      const before = await prompts()
      await page.locator('.xterm-helper-textarea').pressSequentially(`${command}\n`)
      await until('the next prompt', async () => (await prompts()) > before)
    }
    await page.mouse.move(0, 0)
    expect(await take('terminal.png')).toEqual(good())
  })
})

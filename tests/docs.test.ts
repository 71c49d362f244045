/** The documentation against one server: its site in Debian's Chromium, and what needs no further templates. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, hasBrowser } from './setup/browser.ts'
import { examplesOf, linesOfExample, runExample } from './setup/documented-examples.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import { runTutorial } from './setup/tutorial.ts'

/** What axe finds in a page. */
const VIOLATIONS = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

it('the tutorial does what it says, up to the fork of a running program', { tags: ['long'] }, async () => {
  expect(await runTutorial(offshoot, [3, 4, 5])).toEqual([])
})

it('the example best-of-n.ts keeps the best of several attempts in each round', { tags: ['long'] }, async () => {
  const lines = await linesOfExample('best-of-n.ts', offshoot)
  expect(lines).toContain('failed exit 1')
  expect(lines.filter((line) => line.startsWith('best'))).toHaveLength(2)
  expect(lines.at(-1)).toBe('sum: 12')
  expect((await offshoot.request('GET', '/v1/sandboxes')).body).toEqual([])
})

it('the example in the README runs', async () => {
  const [example] = examplesOf('README.md')
  const { exitCode, stderr } = await runExample(example?.code ?? '', offshoot)
  expect({ example: example?.section, exitCode, stderr }).toEqual({ example: 'Five lines', exitCode: 0, stderr: '' })
})

describe.skipIf(!hasBrowser)('the site at /docs', () => {
  const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())

  /** Runs with a page, which must send no request to another host and report no error. */
  async function open<T>(path: string, options: BrowserContextOptions, use: (page: Page) => Promise<T>): Promise<T> {
    const context = await browser.newContext(options)
    try {
      const page = await context.newPage()
      const unexpected: string[] = []
      page.on('request', (request) => {
        if (!request.url().startsWith(offshoot.credentials.base_url)) unexpected.push(request.url())
      })
      page.on('pageerror', ({ message }) => unexpected.push(message))
      page.on('console', (message) => {
        // A browser logs every refusal of a request.
        if (message.type() === 'error' && !/status of 40[14]/.test(message.text())) unexpected.push(message.text())
      })
      await page.goto(`${offshoot.credentials.base_url}/docs/${path}`)
      const result = await use(page)
      expect(unexpected).toEqual([])
      return result
    } finally {
      await context.close()
    }
  }

  it.each(['', 'coming-from', 'api/sandboxes', 'adr/0004-checkpoints'])(
    'is accessible and fits narrow screens in both themes: %s',
    { tags: ['long'] },
    async (path) => {
      const rules = await readFile(axe, 'utf8')
      for (const colorScheme of ['light', 'dark'] as const)
        await open(path, { colorScheme, viewport: { width: 360, height: 740 } }, async (page) => {
          const send = page.locator('details.send summary').first()
          if ((await send.count()) > 0) await send.click()
          await page.evaluate(rules)
          const violations = await page.evaluate(VIOLATIONS)
          expect(violations).toEqual([])
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
        })
    },
  )

  it('finds passages, by keyboard alone', async () => {
    await open('tutorial', {}, async (page) => {
      await page.keyboard.press('/')
      await page.keyboard.type('promote sibling')
      const results = page.locator('#results a')
      await results.first().waitFor()
      await page.keyboard.press('ArrowDown')
      const chosen = await page.evaluate<string>('document.querySelector("#results a:focus").href')
      await page.keyboard.press('Enter')
      await page.waitForURL(chosen)
      expect(await page.locator('main').innerText()).toMatch(/promote/i)
    })
  })

  it('remembers the chosen theme, and shows its pages on narrow screens', { tags: ['long'] }, async () => {
    await open('', { colorScheme: 'light', viewport: { width: 360, height: 740 } }, async (page) => {
      const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
      const light = await background()
      await page.getByRole('button', { name: 'Dark or light' }).click()
      const dark = await background()
      expect(dark).not.toBe(light)
      await page.getByRole('button', { name: 'Menu' }).click()
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Databases' }).click()
      await page.getByRole('heading', { level: 1, name: 'How to use databases' }).waitFor()
      expect(await background()).toBe(dark)
    })
  })

  it('leads on from an address without a page', { tags: ['long'] }, async () => {
    await open('a/b/nowhere', {}, async (page) => {
      await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor()
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Databases' }).click()
      await page.getByRole('heading', { level: 1, name: 'How to use databases' }).waitFor()
      expect(new URL(page.url()).pathname).toBe('/docs/databases')
    })
  })

  it('sends a request with a pasted key, and follows a stream', { tags: ['long'] }, async () => {
    await open('api/templates', {}, async (page) => {
      const section = page.locator('section.operation', { has: page.locator('#get-v1-templates-name') })
      await section.locator('details.send summary').click()
      await section.getByLabel('name (path)').fill('minimal')
      await section.getByRole('button', { name: 'Send' }).click()
      await section.getByText('Paste a key at the top of the page').waitFor()
      await page.getByLabel('API key or token').fill(offshoot.credentials.api_key)
      await section.getByRole('button', { name: 'Send' }).click()
      await section.getByText(/^200 OK/).waitFor()
      expect(await section.locator('.answer').innerText()).toMatch(/request \S+\s+\{\s+"name": "minimal"/)
      expect(await section.locator('form pre').first().innerText()).toContain(
        `curl '${offshoot.credentials.base_url}/v1/templates/minimal'`,
      )
    })
  })

  it('sends a request with the session of the console', { tags: ['long'] }, async () => {
    const { email, password } = offshoot.credentials
    await open('api/sandboxes', {}, async (page) => {
      const signedIn = await page.request.post(`${offshoot.credentials.base_url}/api/auth/sign-in/email`, {
        data: { email, password },
      })
      expect(signedIn.status()).toBe(200)
      const section = page.locator('section.operation', { has: page.locator('#post-v1-sandboxes') })
      await section.locator('details.send summary').click()
      await section.getByLabel('Body, application/json').fill('{"template":"minimal"}')
      await section.getByRole('button', { name: 'Send' }).click()
      await section.getByText(/^201 Created/).waitFor()
      const { id } = JSON.parse(await section.locator('.answer pre').innerText()) as { id: string }
      expect((await offshoot.request('DELETE', `/v1/sandboxes/${id}`)).status).toBe(204)
    })
  })
})

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { CHROMIUM } from './browser.ts'
import type { Offshoot } from './offshoot.ts'

/** A rule of accessibility that a page breaks, and where. */
export interface Violation {
  readonly rule: string
  readonly places: readonly string[]
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const OVERFLOW_PX = `Math.max(...[...document.querySelectorAll('html, main, [role=dialog]')].map(
  ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`
const OF_CONTEXT = { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' } as const

/** Chromium with the console of a server. Everything that goes wrong in a page is in `problems`. */
export class Console {
  /** Errors of scripts, violations of the content security policy, and requests to other hosts. */
  readonly problems: string[] = []
  readonly context: BrowserContext
  readonly page: Page
  readonly #browser: Browser
  readonly #offshoot: Offshoot

  private constructor(browser: Browser, context: BrowserContext, page: Page, offshoot: Offshoot) {
    this.#browser = browser
    this.context = context
    this.page = page
    this.#offshoot = offshoot
    context.on('page', (opened) => this.#watch(opened))
    this.#watch(page)
  }

  /** Another person's browser, whose pages are watched too. */
  async newContext(): Promise<BrowserContext> {
    const context = await this.#browser.newContext(OF_CONTEXT)
    context.on('page', (opened) => this.#watch(opened))
    return context
  }

  static async start(offshoot: Offshoot): Promise<Console> {
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
    const context = await browser.newContext(OF_CONTEXT)
    return new Console(browser, context, await context.newPage(), offshoot)
  }

  #watch(page: Page): void {
    const own = new URL(this.#offshoot.credentials.base_url).origin
    page.on('pageerror', (error) => this.problems.push(`error: ${error.message}`))
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) this.problems.push(message.text())
    })
    page.on('request', (request) => {
      const url = new URL(request.url())
      // The content of a preview is a page of its own, of another origin.
      if (url.protocol.startsWith('http') && url.origin !== own && request.frame() === page.mainFrame())
        this.problems.push(`request to ${url.origin}`)
    })
  }

  /** Signs in as the first user, without the page of the sign-in. */
  async signIn(context: BrowserContext = this.context): Promise<void> {
    const { base_url, email, password } = this.#offshoot.credentials
    const response = await context.request.post(`${base_url}/api/auth/sign-in/email`, {
      data: { email, password },
      headers: { origin: base_url },
    })
    if (!response.ok()) throw new Error(`the sign-in answered ${response.status()}`)
  }

  /** Opens a page of the console. */
  async goto(path: string, page: Page = this.page): Promise<void> {
    await page.goto(this.#offshoot.credentials.base_url + path)
  }

  /** What axe finds in the page once no button is busy: it is grey meanwhile, and axe takes a while. */
  async violations(page: Page = this.page): Promise<Violation[]> {
    await page.locator('[aria-busy]').first().waitFor({ state: 'detached' })
    await page.evaluate(AXE)
    return page.evaluate(async () => {
      interface Found {
        readonly id: string
        readonly nodes: readonly { readonly html: string }[]
      }
      const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: readonly Found[] }> } }
      const { violations } = await axe.run()
      return violations.map(({ id, nodes }) => ({ rule: id, places: nodes.map(({ html }) => html.slice(0, 200)) }))
    })
  }

  /** Pixels by which the page, its content or a dialog is wider than its place. */
  async overflowPx(page: Page = this.page): Promise<number> {
    return page.evaluate(OVERFLOW_PX)
  }

  async stop(): Promise<void> {
    await this.#browser.close()
  }
}

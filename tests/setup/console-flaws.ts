import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Console, Violation } from './console.ts'

const NARROW = { width: 360, height: 740 }

/** A folder for pictures of all pages that tests check, for people who want to look at them. */
const PICTURES = process.env['OFFSHOOT_SCREENSHOTS']

export interface Flaws {
  /** Of the console since the test began. */
  readonly problems: readonly string[]
  readonly violations: readonly Violation[]
  /** Pixels by which the page is wider than the window of a phone. */
  readonly overflowPx: number
}

export const NO_FLAWS: Flaws = { problems: [], violations: [], overflowPx: 0 }

/** What is wrong with the page as it is now, also on a phone. */
export async function flawsOf(console: Console, page: Page = console.page): Promise<Flaws> {
  const violations = await console.violations(page)
  const usual = page.viewportSize() ?? NARROW
  await picture(page, 'wide')
  await page.setViewportSize(NARROW)
  const overflowPx = await console.overflowPx(page)
  await picture(page, 'narrow')
  await page.setViewportSize(usual)
  return { problems: [...console.problems], violations, overflowPx }
}

let pictures = 0

function picture(page: Page, width: string): Promise<void> {
  return keepPicture(page, `${expect.getState().currentTestName ?? 'page'} ${++pictures} ${width}`)
}

/** Does nothing unless pictures are wanted. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name.replaceAll(/\W+/g, '-').slice(0, 150)}.png`) })
}

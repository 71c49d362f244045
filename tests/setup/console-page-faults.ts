import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Console, Violation } from './console.ts'

/** What is wrong with a page that works otherwise. */
export interface PageFaults {
  readonly problems: readonly string[]
  readonly violations: readonly Violation[]
  /** At the width of a phone. */
  readonly overflowPx: number
}

export const NO_FAULTS: PageFaults = { problems: [], violations: [], overflowPx: 0 }

const NARROW = { width: 360, height: 740 }

/** A folder for pictures of the checked pages, so that a person can look at them. */
const pictures = process.env['OFFSHOOT_TEST_PICTURES']

/** Checks the page as it is now, and then at the width of a phone. @param name of the pictures */
export async function faultsOf(console: Console, name: string, page: Page = console.page): Promise<PageFaults> {
  const usual = page.viewportSize()
  const violations = await console.violations(page)
  await keepPicture(page, name)
  await page.setViewportSize(NARROW)
  const overflowPx = await console.overflowPx(page)
  await keepPicture(page, `${name}-narrow`)
  if (usual !== null) await page.setViewportSize(usual)
  return { problems: console.problems, violations, overflowPx }
}

/** Does nothing unless pictures are wanted. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return
  await mkdir(pictures, { recursive: true })
  await page.screenshot({ path: join(pictures, `${name}.png`) })
}

/** The pages of one sandbox, in a real browser, one journey after the other. */
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { activityCases } from './setup/console-activity-cases.ts'
import { commandCases } from './setup/console-command-cases.ts'
import { keepPicture } from './setup/console-flaws.ts'
import { fileCases } from './setup/console-file-cases.ts'
import { overviewCases } from './setup/console-overview-cases.ts'
import { terminalCases } from './setup/console-terminal-cases.ts'
import { Console } from './setup/console.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

describe.skipIf(!hasBrowser)('the pages of a sandbox', () => {
  let offshoot: Offshoot
  let console: Console
  let id: string
  beforeAll(async () => {
    offshoot = await borrow()
    console = await Console.start(offshoot)
    await console.signIn()
    id = (await offshoot.create({ template: 'minimal', metadata: { name: 'journey' } })).id
  })
  beforeEach(({ task, onTestFailed }) => {
    console.problems.length = 0
    onTestFailed(() => keepPicture(console.page, `failed ${task.name}`))
  })
  afterAll(async () => {
    await console?.stop()
    await giveBack()
  })

  const world = () => ({ console, offshoot, id })
  describe('terminal', () => {
    terminalCases(world)
  })
  describe('files', () => {
    fileCases(world)
  })
  describe('commands', () => {
    commandCases(world)
  })
  describe('ports, logs, timeline and metrics', () => {
    activityCases(world)
  })
  describe('overview', () => {
    overviewCases(world)
  })
})

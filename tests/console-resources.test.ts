/** The console's pages of templates, volumes and databases, as a person uses them in Debian's Chromium. */
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { Console } from './setup/console.ts'
import { consoleDatabaseCases } from './setup/console-database-cases.ts'
import { consoleTemplateCases } from './setup/console-template-cases.ts'
import { consoleVolumeCases } from './setup/console-volume-cases.ts'
import { keepPicture } from './setup/console-flaws.ts'
import { Offshoot } from './setup/offshoot.ts'

describe.skipIf(!hasBrowser)('the console', () => {
  let offshoot: Offshoot
  let console: Console
  beforeAll(async () => {
    offshoot = await Offshoot.start('console-resources', { templates: ['minimal', 'postgres-16'] })
    console = await Console.start(offshoot)
    await console.signIn()
  })
  beforeEach(({ task, onTestFailed }) => {
    console.problems.length = 0
    onTestFailed(() => keepPicture(console.page, `failed ${task.name}`))
  })
  afterAll(async () => {
    await console?.stop()
    await offshoot?.destroy()
  })

  const world = () => ({ offshoot, console })

  describe('templates', () => {
    consoleTemplateCases(world)
  })
  describe('volumes', () => {
    consoleVolumeCases(world)
  })
  describe('databases', () => {
    consoleDatabaseCases(world)
  })
})

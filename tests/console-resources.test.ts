/** @module-tag long */
/** The console's pages of templates, volumes and databases, as a person uses them in Debian's Chromium. */
import { describe } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { consoleDatabaseCases } from './setup/console-database-cases.ts'
import { consoleTemplateCases } from './setup/console-template-cases.ts'
import { consoleVolumeCases } from './setup/console-volume-cases.ts'
import { consoleWorld } from './setup/console-world.ts'
import { Offshoot } from './setup/offshoot.ts'

describe.skipIf(!hasBrowser)('the console', () => {
  const world = consoleWorld(() => Offshoot.start('console-resources', { templates: ['minimal', 'postgres-16'] }))

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

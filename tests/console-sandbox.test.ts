/** @module-tag long */
/** The pages of one sandbox, in a real browser, one journey after the other. */
import { beforeAll, describe } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { activityCases } from './setup/console-activity-cases.ts'
import { commandCases } from './setup/console-command-cases.ts'
import { fileCases } from './setup/console-file-cases.ts'
import { overviewCases } from './setup/console-overview-cases.ts'
import { consoleWorld } from './setup/console-world.ts'
import { terminalCases } from './setup/console-terminal-cases.ts'

describe.skipIf(!hasBrowser)('the pages of a sandbox', () => {
  const signedIn = consoleWorld()
  let id: string
  beforeAll(async () => {
    id = (await signedIn().offshoot.create({ template: 'minimal', metadata: { name: 'journey' } })).id
  })

  const world = () => ({ ...signedIn(), id })
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

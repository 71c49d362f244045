/** The console's pages of a workspace, of accounts and of operators, as people use them in Debian's Chromium. */
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { consoleAccountCases } from './setup/console-account-cases.ts'
import { consoleMemberCases } from './setup/console-member-cases.ts'
import { consoleOperatorCases } from './setup/console-operator-cases.ts'
import { consoleWebhookCases } from './setup/console-webhook-cases.ts'
import { consoleWorkspaceCases } from './setup/console-workspace-cases.ts'
import { Console } from './setup/console.ts'
import { keepPicture } from './setup/console-flaws.ts'
import { Offshoot } from './setup/offshoot.ts'

describe.skipIf(!hasBrowser)('the console', () => {
  let offshoot: Offshoot
  let console: Console
  beforeAll(async () => {
    offshoot = await Offshoot.start('console-workspace', {
      settings: { webhooks: { allowed_networks: ['127.0.0.1'] } },
    })
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

  describe('workspace', () => {
    consoleWorkspaceCases(world)
  })
  describe('webhooks', () => {
    consoleWebhookCases(world)
  })
  describe('members', () => {
    consoleMemberCases(world)
  })
  describe('operators', () => {
    consoleOperatorCases(world)
  })
  describe('account', () => {
    consoleAccountCases(world)
  })
})

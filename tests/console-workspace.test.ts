/** @module-tag long */
/** The console's pages of a workspace, of accounts and of operators, as people use them in Debian's Chromium. */
import { describe } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { consoleAccountCases } from './setup/console-account-cases.ts'
import { consoleMemberCases } from './setup/console-member-cases.ts'
import { consoleOperatorCases } from './setup/console-operator-cases.ts'
import { consoleWebhookCases } from './setup/console-webhook-cases.ts'
import { consoleWorkspaceCases } from './setup/console-workspace-cases.ts'
import { consoleWorld } from './setup/console-world.ts'
import { Offshoot } from './setup/offshoot.ts'

describe.skipIf(!hasBrowser)('the console', () => {
  const settings = { webhooks: { allowed_networks: ['127.0.0.1'] } }
  const world = consoleWorld(() => Offshoot.start('console-workspace', { settings }))

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

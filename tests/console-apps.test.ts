/** @module-tag long */
/** The console's pages of apps, as a person uses them in Debian's Chromium. */
import { DnsServer } from '@offshoot/control/test/dns-server'
import { afterAll, describe } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { consoleAppCases } from './setup/console-app-cases.ts'
import { GitHost } from './setup/git-host.ts'
import { nodeApp } from './setup/node-app.ts'
import { consoleWorld } from './setup/console-world.ts'
import { Offshoot } from './setup/offshoot.ts'

describe.skipIf(!hasBrowser)('the console: apps', () => {
  let git: GitHost
  let dns: DnsServer
  let first: string
  // Ends after the server, which uses both.
  afterAll(async () => {
    await git?.stop()
    dns?.stop()
  })
  const world = consoleWorld(async () => {
    git = await GitHost.start()
    dns = await DnsServer.start()
    first = await git.commit('people/site', nodeApp('one'))
    return Offshoot.start('console-apps', {
      templates: ['app'],
      env: { OFFSHOOT_EGRESS_ALLOW: git.exception },
      settings: { dns_servers: [dns.address] },
    })
  })

  consoleAppCases(() => ({ ...world(), git, dns, first }))
})

/** The console's pages of apps, as a person uses them in Debian's Chromium. */
import { DnsServer } from '@offshoot/control/test/dns-server'
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { hasBrowser } from './setup/browser.ts'
import { consoleAppCases } from './setup/console-app-cases.ts'
import { Console } from './setup/console.ts'
import { GitHost } from './setup/git-host.ts'
import { nodeApp } from './setup/node-app.ts'
import { keepPicture } from './setup/console-flaws.ts'
import { Offshoot } from './setup/offshoot.ts'

describe.skipIf(!hasBrowser)('the console: apps', () => {
  let git: GitHost
  let dns: DnsServer
  let first: string
  let offshoot: Offshoot
  let console: Console
  beforeAll(async () => {
    git = await GitHost.start()
    dns = await DnsServer.start()
    first = await git.commit('people/site', nodeApp('one'))
    offshoot = await Offshoot.start('console-apps', {
      templates: ['app'],
      env: { OFFSHOOT_EGRESS_ALLOW: git.exception },
      settings: { dns_servers: [dns.address] },
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
    await git?.stop()
    dns?.stop()
  })

  consoleAppCases(() => ({ offshoot, console, git, dns, first }))
})

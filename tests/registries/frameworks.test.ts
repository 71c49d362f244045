/**
 * Repositories of real frameworks, built, served, and opened in a browser. Their packages come from this machine's
 * registries through the guest's own npm and apt. OFFSHOOT_FRAMEWORKS=static,vite,next,express,yarn1,flask selects some,
 * because they take minutes under emulation. OFFSHOOT_SCREENSHOTS names a folder for screenshots.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Browser, hasBrowser } from '../setup/browser.ts'
import { frameworkApps, writeLock } from '../setup/framework-apps.ts'
import { GitHost } from '../setup/git-host.ts'
import { Offshoot } from '../setup/offshoot.ts'
import { findRegistries, type Registries } from '../setup/registries.ts'
import { until } from '../setup/until.ts'

const WANTED = process.env['OFFSHOOT_FRAMEWORKS']?.split(',') ?? []
const SCREENSHOTS = process.env['OFFSHOOT_SCREENSHOTS']
/** Milliseconds to install, build and start under emulation. */
const DEPLOY_MS = 1_100_000
const PAGE_MS = 60_000

describe.skipIf(WANTED.length === 0 || !hasBrowser)('apps of real frameworks', () => {
  let git: GitHost
  let offshoot: Offshoot
  let browser: Browser
  let registries: Registries | null = null
  /** Why packages cannot be installed here; `null` if they can. */
  let obstacle: string | null = null

  beforeAll(async () => {
    git = await GitHost.start()
    browser = await Browser.start()
    registries = await findRegistries().catch((error: Error) => {
      obstacle = `this machine reaches no registry: ${error.message}`
      return null
    })
    const exceptions = [git.exception, ...(registries?.exceptions ?? [])].join(',')
    offshoot = await Offshoot.start('frameworks', { templates: ['app'], env: { OFFSHOOT_EGRESS_ALLOW: exceptions } })
    if (registries === null) return
    const { id } = await offshoot.create({ template: 'app', env: registries.npm })
    const { exit_code: code, stderr } = await offshoot.exec(id, 'npm view left-pad version', { timeout_seconds: 60 })
    if (code !== 0) obstacle = `guests reach no registry: ${stderr.slice(-300)}`
    await offshoot.delete(id)
  })

  afterAll(async () => {
    await browser?.stop()
    await offshoot?.destroy()
    await git?.stop()
  })

  beforeEach(({ skip, task }) => {
    if (obstacle !== null && task.name !== 'static') skip(obstacle)
  })

  async function deploy(app: string): Promise<{ build_logs: string; seconds: number }> {
    const { body: row } = await offshoot.request('POST', `/v1/apps/${app}/deploys`)
    const over = async () => {
      const { body } = await offshoot.request('GET', `/v1/apps/${app}/deploys/${row.id}`)
      return ['live', 'failed'].includes(body.status) ? body : null
    }
    const ended = await until('the end of the deploy', over, DEPLOY_MS, 200)
    expect([ended.status, ended.error, ended.status === 'live' || ended.build_logs.slice(-2000)]).toEqual([
      'live',
      null,
      true,
    ])
    const seconds = (Date.parse(ended.finished_at) - Date.parse(ended.created_at)) / 1000
    return { build_logs: ended.build_logs, seconds }
  }

  it.each(WANTED)('%s', { timeout: 2 * DEPLOY_MS }, async (name) => {
    const found = frameworkApps[name]
    if (found === undefined) throw new Error(`no framework is called ${name}`)
    const before = found.hasLock === true ? writeLock : async () => undefined
    await git.commit(name, { ...found.files, '.gitignore': 'node_modules\n.next\ndist\n' }, { before })
    const body = { name, git_url: git.urlOf(name), env: registries?.npm ?? {}, ...found.fields }
    const { status, body: app } = await offshoot.request('POST', '/v1/apps', { body })
    expect(status).toBe(201)
    const first = await deploy(app.id)
    expect(first.build_logs).toContain(`framework: ${found.framework}`)
    const tab = await browser.open(app.url)
    const works = `Promise.resolve(${found.works}).catch(() => false)`
    await until(`the page of ${name}`, () => tab.evaluate(works), PAGE_MS, 100)
    if (SCREENSHOTS !== undefined) await writeFile(join(SCREENSHOTS, `${name}.png`), await tab.screenshot())
    console.log(`${name}: live after ${first.seconds} s`)
    if (found.hasLock === true) await again(name, app.id, found.files, before)
    await offshoot.request('DELETE', `/v1/apps/${app.id}`)
  })

  /** Deploys another commit with the same lock file. */
  async function again(
    name: string,
    app: string,
    files: Readonly<Record<string, string>>,
    before: (folder: string) => Promise<void>,
  ): Promise<void> {
    const { text } = await until(
      'what was installed',
      async () => {
        const metrics = await offshoot.request('GET', '/metrics')
        return metrics.text.includes('offshoot_app_trees{status="ready"} 1') ? metrics : null
      },
      DEPLOY_MS,
    )
    expect(text).not.toContain('offshoot_app_trees{status="making"}')
    await git.commit(name, { ...files, '.gitignore': 'node_modules\n.next\ndist\n', 'README.md': 'again' }, { before })
    const { build_logs: log, seconds } = await deploy(app)
    expect(log).toContain('==> install: as it was')
    console.log(`${name}: again after ${seconds} s`)
  }
})

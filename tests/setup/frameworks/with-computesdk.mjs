/** What ComputeSDK's documentation shows, with its provider for E2B. It prints each step that went well. */
import assert from 'node:assert/strict'
import { e2b } from '@computesdk/e2b'
import { compute } from 'computesdk'
import { Sandbox } from 'e2b'
import { answerOf, step, until } from './steps.mjs'

compute.setConfig({ provider: e2b({ apiKey: process.env.E2B_API_KEY }) })
const sandbox = await compute.sandbox.create({ timeout: 300_000, envs: { FOO: 'bar' }, metadata: { user: '1' } })
const { filesystem, sandboxId } = sandbox

await step('a sandbox is described, listed and found', async () => {
  const info = await sandbox.getInfo()
  assert.deepEqual([info.id, info.provider, info.status], [sandboxId, 'e2b', 'running'])
  assert((await compute.sandbox.list()).some((each) => each.sandboxId === sandboxId))
  const found = await compute.sandbox.getById(sandboxId)
  assert.equal((await found.runCommand('echo $FOO')).stdout, 'bar\n')
  assert.equal(await compute.sandbox.getById('00000000000000000000000000000000'), null)
})

await step('commands', async () => {
  const python = await sandbox.runCommand("python3 - <<'PY'\nimport json\nprint(json.dumps({'a': 1}))\nPY")
  assert.deepEqual([python.stdout, python.stderr, python.exitCode], ['{"a": 1}\n', '', 0])
  const own = await sandbox.runCommand('printenv OWN; pwd', { cwd: '/tmp', env: { OWN: 'y' } })
  assert.deepEqual([own.stdout, own.exitCode], ['y\n/tmp\n', 0])
  const bad = await sandbox.runCommand('echo no >&2; exit 3')
  assert.deepEqual([bad.stdout, bad.stderr, bad.exitCode], ['', 'no\n', 3])
})

await step('files', async () => {
  await filesystem.writeFile('/tmp/hello.py', 'print("Hello World")')
  assert.equal(await filesystem.readFile('/tmp/hello.py'), 'print("Hello World")')
  await filesystem.mkdir('/tmp/data')
  const names = (await filesystem.readdir('/tmp')).map(({ name }) => name)
  assert(names.includes('hello.py') && names.includes('data'), names.join())
  assert.equal(await filesystem.exists('/tmp/hello.py'), true)
  await filesystem.remove('/tmp/hello.py')
  assert.equal(await filesystem.exists('/tmp/hello.py'), false)
})

await step('a port has an address', async () => {
  await sandbox.runCommand('python3 -m http.server 3000 --directory /tmp', { background: true })
  const { host, protocol } = new URL(await sandbox.getUrl({ port: 3000 }))
  assert.equal(protocol, 'https:')
  await until(async () => (await answerOf(host)).status === 200)
  assert.match((await answerOf(host)).body, /data/)
})

await step('a snapshot', async () => {
  await filesystem.writeFile('kept.txt', '1')
  const snapshot = await compute.snapshot.create(sandboxId, { name: 'computesdk' })
  for (const source of [{ snapshotId: snapshot.id }, { templateId: 'computesdk' }]) {
    const copy = await compute.sandbox.create(source)
    assert.equal(await copy.filesystem.readFile('kept.txt'), '1')
    await copy.destroy()
  }
  assert.equal(await Sandbox.deleteSnapshot(snapshot.id), true)
})

await step('folders beside the home folder', async () => {
  await filesystem.mkdir('/analysis')
  await filesystem.writeFile('/analysis/data/people.csv', 'name,age\n')
  const made = await sandbox.runCommand('echo 1 > /analysis/output; cat /analysis/data/people.csv')
  assert.deepEqual([made.stdout, made.exitCode], ['name,age\n', 0])
})

await step('the end', async () => {
  await sandbox.destroy()
  assert.equal(await sandbox.getInstance().isRunning(), false)
  assert.equal(await compute.sandbox.getById(sandboxId), null)
})

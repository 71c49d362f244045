/** What a Mastra agent's workspace does with E2B's sandbox. It prints each step that went well. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Workspace } from '@mastra/core/workspace'
import { E2BSandbox } from '@mastra/e2b'
import { answerOf, errorOf, step, until } from './steps.mjs'

const id = `agent-${randomUUID()}`
// Without a template: Mastra looks for its own one, which would have tools for mounts of buckets.
const sandbox = new E2BSandbox({ id, env: { FOO: 'bar' }, metadata: { project: 'p 1' }, timeout: 300_000 })
const workspace = new Workspace({ sandbox })
const { processes } = sandbox

await step('a workspace starts its sandbox', async () => {
  await workspace.init()
  const { metadata, templateId } = await sandbox.e2b.getInfo()
  assert.deepEqual([metadata, templateId], [{ project: 'p 1', 'mastra-sandbox-id': id }, 'base'])
  const info = await sandbox.getInfo()
  assert.deepEqual([info.id, info.status, info.mounts], [id, 'running', []])
})

await step('a command has output, variables, a folder and an exit code', async () => {
  const good = await sandbox.executeCommand('sh', ['-c', 'echo hi $FOO; pwd; whoami; echo err >&2'])
  assert.deepEqual(
    [good.success, good.exitCode, good.stdout, good.stderr],
    [true, 0, 'hi bar\n/home/user\nuser\n', 'err\n'],
  )
  let heard = ''
  const onStdout = (text) => (heard += text)
  const own = await sandbox.executeCommand('echo $OWN; pwd', [], { cwd: '/tmp', env: { OWN: 'y' }, onStdout })
  assert.deepEqual([own.stdout, heard], ['y\n/tmp\n', 'y\n/tmp\n'])
  const bad = await sandbox.executeCommand('echo no >&2; exit 3')
  assert.deepEqual([bad.success, bad.exitCode], [false, 3])
})

await step('files', async () => {
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 256))
  await sandbox.writeFiles([
    { path: 'src/a.txt', content: 'hello' },
    { path: '/tmp/bytes', content: bytes },
  ])
  assert.equal(await sandbox.e2b.files.read('/home/user/src/a.txt'), 'hello')
  assert.equal((await sandbox.executeCommand('wc', ['-c', '/tmp/bytes'])).stdout, '1000 /tmp/bytes\n')
})

await step('a process takes input, is listed, found and killed', async () => {
  const cat = await processes.spawn('cat')
  await cat.sendStdin('abc\n')
  await until(() => cat.stdout === 'abc\n')
  const listed = (await processes.list()).find(({ pid }) => pid === cat.pid)
  assert.match(listed.command, /cat$/)
  assert.equal(await processes.get(cat.pid), cat)
  assert.equal(await cat.kill(), true)
  assert.equal((await cat.wait()).success, false)
  assert(!(await processes.list()).some(({ pid }) => pid === cat.pid))
  assert.equal(await processes.get('999999'), undefined)
})

await step('a process that takes too long ends', async () => {
  const { success } = await (await processes.spawn('sleep 3333', { timeout: 1000 })).wait()
  assert.equal(success, false)
  await until(async () => !(await processes.list()).some(({ command }) => command.includes('3333')))
})

let server
await step('a port has an address', async () => {
  server = await processes.spawn('python3 -m http.server 8000 --directory src')
  const url = new URL(await sandbox.networking.getPortUrl(8000))
  assert.equal(url.host, sandbox.e2b.getHost(8000))
  await until(async () => (await answerOf(url.host)).status === 200)
  assert.match((await answerOf(url.host)).body, /a\.txt/)
})

await step('a workspace stops and starts again, with its processes and files', async () => {
  const { sandboxId } = sandbox.e2b
  await workspace.stop()
  assert.equal(sandbox.status, 'stopped')
  const asleep = new URL(await sandbox.networking.getPortUrl(8000))
  assert(asleep.hostname.startsWith(`8000-${sandboxId}.`))
  // Another process of the user, which knows only Mastra's id.
  const again = new E2BSandbox({ id, timeout: 300_000 })
  await again.start()
  assert.equal(again.e2b.sandboxId, sandboxId)
  assert.equal((await again.executeCommand('cat src/a.txt')).stdout, 'hello')
  const found = await again.processes.get(server.pid)
  assert.equal(await found.kill(), true)
  await sandbox.start()
  assert.equal(sandbox.e2b.sandboxId, sandboxId)
})

await step('a clone is another sandbox', async () => {
  const named = new E2BSandbox({ id: `agent-${randomUUID()}`, template: 'base', env: { FOO: 'base' } })
  const clone = named.clone({ id: `${id}-clone`, idleTimeoutMinutes: 2 })
  await clone.start()
  assert.notEqual(clone.e2b.sandboxId, sandbox.e2b.sandboxId)
  assert.equal((await clone.executeCommand('echo $FOO; ls')).stdout, 'base\n')
  const left = ((await clone.e2b.getInfo()).endAt - Date.now()) / 1000
  assert(left > 60 && left <= 120, `${left} s left`)
  // Another process of the user ends it.
  await new E2BSandbox({ id: `${id}-clone`, template: 'base' }).destroy()
  assert.equal(await clone.e2b.isRunning(), false)
})

await step('a template that would have to be built is refused', async () => {
  const custom = new E2BSandbox({ template: (base) => base.aptInstall(['jq']) })
  assert.match((await errorOf(custom.start())).message, /does not support template builds/)
})

await step('the end', async () => {
  const { e2b } = sandbox
  await workspace.destroy()
  assert.equal(sandbox.status, 'destroyed')
  assert.equal(await e2b.isRunning(), false)
})

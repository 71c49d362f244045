/** What a sandbox agent of OpenAI's Agents SDK does with E2B's sandboxes. It prints each step that went well. */
import assert from 'node:assert/strict'
import { Manifest } from '@openai/agents/sandbox'
import { E2BSandboxClient } from '@openai/agents-extensions/sandbox/e2b'
import { Sandbox } from 'e2b'
import { answerOf, errorOf, step, until } from './steps.mjs'

const text = async (session, path) => Buffer.from(await session.readFile({ path })).toString()
const stateOf = async (id) => (await Sandbox.getInfo(id)).state

const client = new E2BSandboxClient({
  timeout: 300,
  onTimeout: 'pause',
  exposedPorts: [8000],
  metadata: { agent: '1' },
  workspacePersistence: 'snapshot',
  pauseOnExit: true,
})
const manifest = new Manifest({
  entries: {
    'README.md': { type: 'file', content: '# hello\n' },
    src: { type: 'dir', children: { 'run.sh': { type: 'file', content: 'echo ran\n', permissions: '-rwxr-xr-x' } } },
  },
  environment: { FOO: 'bar' },
})
const session = await client.create(manifest)

await step('a workspace with the files of a manifest', async () => {
  assert.equal(await session.running(), true)
  assert.equal(await text(session, 'README.md'), '# hello\n')
  assert.deepEqual((await Sandbox.getInfo(session.state.sandboxId)).metadata, { agent: '1' })
  const output = await session.execCommand({
    cmd: 'pwd; echo $FOO; cat README.md; sh src/run.sh; stat -c %U README.md',
  })
  assert.match(output, /exited with code 0\n(.*\n)*\/workspace\nbar\n# hello\nran\nuser\n/)
})

await step('a command fails', async () => {
  assert.match(await session.execCommand({ cmd: 'echo no >&2; exit 3' }), /exited with code 3\n(.*\n)*no/)
  assert.match(await session.execCommand({ cmd: 'pwd', workdir: 'src' }), /\/workspace\/src\n/)
  assert.match(await session.execCommand({ cmd: 'whoami', runAs: 'root' }), /root\n/)
})

await step('a terminal takes input', async () => {
  const cmd = 'tty; read line; echo "got: $line"'
  let output = await session.execCommand({ cmd, tty: true, yieldTimeMs: 250 })
  const sessionId = Number(/session ID (\d+)/.exec(output)[1])
  output += await session.writeStdin({ sessionId, chars: 'abc\n', yieldTimeMs: 250 })
  await until(async () => {
    if (output.includes('got: abc')) return true
    output += await session.writeStdin({ sessionId, chars: '', yieldTimeMs: 250 })
    return false
  })
  assert.match(output, /\/dev\/pts\/\d/)
})

await step('files', async () => {
  const editor = session.createEditor()
  await editor.createFile({ type: 'create_file', path: 'notes/a.md', diff: '+one\n+two\n' })
  assert.match(await text(session, 'notes/a.md'), /^one\ntwo\n?$/)
  await editor.updateFile({ type: 'update_file', path: 'notes/a.md', diff: '@@\n one\n-two\n+three\n' })
  assert.match(await text(session, 'notes/a.md'), /^one\nthree\n?$/)
  assert.deepEqual([await session.pathExists('notes/a.md'), await session.directoryExists('notes')], [true, true])
  await editor.deleteFile({ type: 'delete_file', path: 'notes/a.md' })
  assert.equal(await session.pathExists('notes/a.md'), false)
  await session.materializeEntry({ path: 'later.txt', entry: { type: 'file', content: 'later' } })
  assert.equal(await text(session, 'later.txt'), 'later')
})

await step('an exposed port', async () => {
  await session.execCommand({ cmd: 'nohup python3 -m http.server 8000 >/dev/null 2>&1 &' })
  const { host, port } = await session.resolveExposedPort(8000)
  await until(async () => (await answerOf(`${host}:${port}`)).status === 200)
  assert.match((await answerOf(`${host}:${port}`)).body, /README\.md/)
  await errorOf(session.resolveExposedPort(8001))
})

await step('a workspace is kept as a snapshot', async () => {
  const before = session.state.sandboxId
  const kept = await session.persistWorkspace()
  await session.execCommand({ cmd: 'rm README.md' })
  await session.hydrateWorkspace(kept)
  assert.notEqual(session.state.sandboxId, before)
  assert.equal(await text(session, 'README.md'), '# hello\n')
  assert.equal(await session.running(), true)
  await errorOf(Sandbox.getInfo(before))
})

await step('a session pauses when it closes, and is resumed from its state', async () => {
  const { sandboxId } = session.state
  await session.close()
  assert.equal(await stateOf(sandboxId), 'paused')
  const stored = JSON.stringify(await client.serializeSessionState(session.state))
  const resumed = await client.resume(await client.deserializeSessionState(JSON.parse(stored)))
  assert.equal(resumed.state.sandboxId, sandboxId)
  assert.equal(await text(resumed, 'later.txt'), 'later')
})

await step('a workspace is kept as an archive', async () => {
  const state = { ...session.state, workspacePersistence: 'tar', pauseOnExit: false }
  const resumed = await client.resume(state)
  const archive = await resumed.persistWorkspace()
  await resumed.execCommand({ cmd: 'rm README.md; echo new > new.txt' })
  await resumed.hydrateWorkspace(archive)
  assert.equal(await text(resumed, 'README.md'), '# hello\n')
  assert.equal(await resumed.pathExists('new.txt'), false)
})

await step('the end', async () => {
  await session.delete()
  await errorOf(Sandbox.getInfo(session.state.sandboxId))
})

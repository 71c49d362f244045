/**
 * What an agent does over the Model Context Protocol. Run it with the folder of a client's package, its generation
 * (`client` or `sdk`), the address of the endpoint, and an API key. With a program as a further argument, that one is
 * started with `mcp` and asked over its standard input. It prints each step that went well.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const [folder, generation, url, key, program] = process.argv.slice(2)
const require = createRequire(`${folder}/program.js`)
/** The modules of a client that the steps use, by generation. The client's folder has them, not this project. */
const MODULES = {
  client: ['@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio'],
  sdk: ['index', 'stdio', 'streamableHttp'].map((name) => `@modelcontextprotocol/sdk/client/${name}.js`),
}
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = Object.assign(
  {},
  ...MODULES[generation].map((name) => require(name)),
)

const client = new Client({ name: 'test', version: '1.0.0' })
const requestInit = { headers: { authorization: `Bearer ${key}` } }
const env = { ...process.env, OFFSHOOT_BASE_URL: new URL(url).origin, OFFSHOOT_API_KEY: key }
await client.connect(
  program === undefined
    ? new StreamableHTTPClientTransport(new URL(url), { requestInit })
    : new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], env }),
)

async function step(name, run) {
  await run()
  console.log(`passed: ${name}`)
}

/** Both generations take options after the parameters; the earlier one has a schema between them. */
const use = async (name, args, options) => {
  const params = { name, arguments: args }
  const result = await (generation === 'client'
    ? client.callTool(params, options)
    : client.callTool(params, undefined, options))
  assert(!result.isError, `${name}: ${JSON.stringify(result.content)}`)
  return result.structuredContent
}

await step('tools', async () => {
  const { tools } = await client.listTools()
  assert(tools.some(({ name }) => name === 'fork_sandbox'))
  assert.match(client.getInstructions(), /fork_sandbox/)
})

const { id } = await use('create_sandbox', { template: 'base' })

await step('commands with progress', async () => {
  const seen = []
  const cmd = 'for i in 1 2 3 4; do echo line $i; sleep 0.7; done; echo err >&2; exit 3'
  const result = await use('run_command', { sandbox_id: id, cmd }, { onprogress: (progress) => seen.push(progress) })
  assert.deepEqual(result, {
    stdout: 'line 1\nline 2\nline 3\nline 4\n',
    stderr: 'err\n',
    exit_code: 3,
    dropped_chars: 0,
  })
  assert(seen.length >= 2, `${seen.length} messages about progress`)
  assert.match(seen.at(-1).message, /^(line \d|err)$/)
})

await step('a long output keeps its end', async () => {
  const { stdout, dropped_chars: dropped } = await use('run_command', { sandbox_id: id, cmd: 'seq 1 100000' })
  assert(stdout.endsWith('\n99999\n100000\n'))
  assert.equal(stdout.length + dropped, 588_895)
})

await step('a cancelled command ends in the sandbox', async () => {
  const controller = new AbortController()
  const args = { sandbox_id: id, cmd: 'sleep 4444', timeout_seconds: 3600 }
  const running = use('run_command', args, { signal: controller.signal })
  const isThere = async () => {
    const cmd = 'pgrep -f "^sleep 4444" || true'
    return (await use('run_command', { sandbox_id: id, cmd })).stdout !== ''
  }
  while (!(await isThere()));
  controller.abort('enough')
  await assert.rejects(running)
  while (await isThere());
})

await step('files, also as resources', async () => {
  await use('write_file', { sandbox_id: id, path: '/tmp/deep/a.txt', content: 'hello\n' })
  const read = await use('read_file', { sandbox_id: id, path: '/tmp/deep/a.txt' })
  assert.deepEqual([read.content, read.encoding, read.is_end], ['hello\n', 'utf8', true])
  const { entries } = await use('list_dir', { sandbox_id: id, path: '/tmp/deep' })
  assert.deepEqual(entries, [{ path: '/tmp/deep/a.txt', type: 'file', size: 6 }])
  const { contents } = await client.readResource({ uri: `sandbox://${id}/tmp/deep/a.txt` })
  assert.equal(contents[0].text, 'hello\n')
  await use('write_file', { sandbox_id: id, path: '/tmp/bytes', content: 'AP8=', encoding: 'base64' })
  assert.deepEqual((await use('read_file', { sandbox_id: id, path: '/tmp/bytes' })).content, 'AP8=')
})

await step('forks and snapshots', async () => {
  const { children } = await use('fork_sandbox', { sandbox_id: id, count: 2 })
  for (const child of children) {
    const { stdout } = await use('run_command', { sandbox_id: child.id, cmd: 'cat /tmp/deep/a.txt' })
    assert.equal(stdout, 'hello\n')
    await use('delete_sandbox', { sandbox_id: child.id })
  }
  const { snapshot_id: snapshot } = await use('snapshot_sandbox', { sandbox_id: id, name: 'mine' })
  const again = await use('create_sandbox', { from_snapshot: snapshot })
  const { content } = await use('read_file', { sandbox_id: again.id, path: '/tmp/deep/a.txt' })
  assert.equal(content, 'hello\n')
  await use('delete_sandbox', { sandbox_id: again.id })
})

await step('the end', async () => {
  await use('delete_sandbox', { sandbox_id: id })
  const gone = await client.callTool({ name: 'run_command', arguments: { sandbox_id: id, cmd: 'true' } })
  assert.deepEqual([gone.isError, gone.content[0].text], [true, 'not found'])
})
await client.close()

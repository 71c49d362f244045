/**
 * What users do with E2B's JavaScript client, checked step by step. Run it with the path of the client's package, and
 * with E2B_API_KEY, E2B_API_URL, E2B_SANDBOX_URL and E2B_DOMAIN. It prints each step that went well.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'

const require = createRequire(import.meta.url)
const { Sandbox } = require(process.argv[2])

/** Milliseconds until a condition must hold. */
const WITHIN_MS = 30_000

async function step(name, run) {
  await run()
  console.log(`passed: ${name}`)
}

async function until(isSo) {
  const endMs = Date.now() + WITHIN_MS
  while (!(await isSo())) {
    assert(Date.now() < endMs, `not within ${WITHIN_MS} ms: ${isSo}`)
    await delay(50)
  }
}

/** The error that a call fails with. */
const errorOf = (call) =>
  call.then(
    () => assert.fail('it did not fail'),
    (error) => error,
  )

const sandbox = await Sandbox.create({ timeoutMs: 300_000, metadata: { 'a&b': 'c d=é' }, envs: { FOO: 'bar' } })
const { commands, files, pty } = sandbox

await step('a sandbox is described', async () => {
  const info = await sandbox.getInfo()
  assert.equal(info.sandboxId, sandbox.sandboxId)
  assert.match(sandbox.sandboxId, /^[0-9a-f]{32}$/)
  assert.deepEqual([info.templateId, info.state, info.metadata], ['base', 'running', { 'a&b': 'c d=é' }])
  assert.equal(Math.round((info.endAt - info.startedAt) / 1000), 300)
  assert.equal(await sandbox.isRunning(), true)
})

await step('a command has output, a user, variables and an exit code', async () => {
  const { stdout, stderr, exitCode } = await commands.run('echo hi $FOO; pwd; whoami; echo err >&2')
  assert.deepEqual([stdout, stderr, exitCode], ['hi bar\n/home/user\nuser\n', 'err\n', 0])
  assert.equal((await commands.run('whoami', { user: 'root' })).stdout, 'root\n')
  const own = await commands.run('echo $FOO $OWN; pwd', { envs: { FOO: 'x', OWN: 'y' }, cwd: '/tmp' })
  assert.equal(own.stdout, 'x y\n/tmp\n')
  const named = await commands.run('echo $E2B_SANDBOX $E2B_SANDBOX_ID', { envs: { E2B_SANDBOX: 'own' } })
  assert.equal(named.stdout, `own ${sandbox.sandboxId}\n`)
  const failed = await errorOf(commands.run('echo out; exit 3'))
  assert.deepEqual([failed.constructor.name, failed.exitCode, failed.stdout], ['CommandExitError', 3, 'out\n'])
})

await step('a command that takes too long ends', async () => {
  const error = await errorOf(commands.run('sleep 3333', { timeoutMs: 1000 }))
  assert.equal(error.constructor.name, 'TimeoutError')
  await until(async () => !(await commands.list()).some(({ args }) => args.join(' ').includes('3333')))
})

await step('a large output arrives in order while it is written', async () => {
  let bytes = 0
  const { stdout } = await commands.run('seq 1 300000', { onStdout: (text) => (bytes += text.length) })
  assert.equal(stdout.split('\n').length, 300_001)
  assert(stdout.endsWith('\n299999\n300000\n'))
  assert.equal(bytes, stdout.length)
})

await step('a command in the background takes input, is listed, and is found by its pid', async () => {
  const cat = await commands.run('cat', { background: true, stdin: true })
  const listed = (await commands.list()).find(({ pid }) => pid === cat.pid)
  assert.deepEqual([listed.cmd, listed.args], ['/bin/bash', ['-l', '-c', 'cat']])
  let heard = ''
  const again = await commands.connect(cat.pid, { onStdout: (text) => (heard += text) })
  await commands.sendStdin(cat.pid, 'abc\n')
  await until(() => heard === 'abc\n')
  assert.equal(await cat.kill(), true)
  const error = await errorOf(again.wait())
  assert.equal(error.constructor.name, 'CommandExitError')
  assert.equal(await commands.kill(cat.pid), false)
})

await step('a command outlives its connection', async () => {
  const command = await commands.run('while [ ! -e /tmp/go ]; do sleep 0.1; done; echo went', { background: true })
  await command.disconnect()
  const again = await commands.connect(command.pid)
  await files.write('/tmp/go', '')
  assert.equal((await again.wait()).stdout, 'went\n')
})

await step('a terminal', async () => {
  let output = ''
  const onData = (data) => (output += Buffer.from(data).toString())
  const terminal = await pty.create({ cols: 80, rows: 24, onData })
  await pty.resize(terminal.pid, { cols: 100, rows: 30 })
  await pty.sendInput(terminal.pid, Buffer.from('stty size; exit\n'))
  await terminal.wait()
  assert.match(output, /30 100/)
})

await step('files', async () => {
  const written = await files.write('dir/a.txt', 'hello')
  assert.deepEqual([written.name, written.type, written.path], ['a.txt', 'file', '/home/user/dir/a.txt'])
  assert.equal(await files.read('dir/a.txt'), 'hello')
  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 256)
  await files.write('bytes', bytes.buffer)
  assert.deepEqual(await files.read('bytes', { format: 'bytes' }), bytes)
  await files.write('empty', '')
  assert.equal(await files.read('empty'), '')
  const many = [
    { path: 'm/1', data: '1' },
    { path: '/tmp/2', data: '22' },
  ]
  assert.deepEqual(
    (await files.write(many)).map(({ path }) => path),
    ['/home/user/m/1', '/tmp/2'],
  )
  const info = await files.getInfo('dir/a.txt')
  assert.deepEqual(
    [info.size, info.mode, info.permissions, info.owner, info.group],
    [5, 0o644, '-rw-r--r--', 'user', 'user'],
  )
  const names = (await files.list('.', { depth: 2 })).map(({ path }) => path)
  assert(names.includes('/home/user/dir/a.txt'))
  assert.deepEqual([await files.makeDir('x/y'), await files.makeDir('x/y')], [true, false])
  assert.equal((await files.rename('dir/a.txt', 'dir/b.txt')).path, '/home/user/dir/b.txt')
  assert.deepEqual([await files.exists('dir/a.txt'), await files.exists('dir/b.txt')], [false, true])
  await files.remove('dir')
  assert.match((await errorOf(files.read('dir/b.txt'))).constructor.name, /NotFoundError$/)
  assert.match((await errorOf(files.list('nowhere'))).constructor.name, /NotFoundError$/)
  await files.write('/root/own', 'r', { user: 'root' })
  assert.equal((await files.getInfo('/root/own', { user: 'root' })).owner, 'root')
  // E2B's service has root's rights, and gives files to the user.
  await files.write('/workspace/src/a.txt', 'a')
  await files.write('/root/own', 'u')
  const owners = await commands.run('sudo stat -c %U /workspace /workspace/src/a.txt /root/own')
  assert.equal(owners.stdout, 'user\nuser\nuser\n')
  const user = 'nobody-here'
  for (const error of await Promise.all([
    errorOf(files.read('m/1', { user })),
    errorOf(commands.run('true', { user })),
  ]))
    assert.equal(error.constructor.name, 'AuthenticationError')
})

await step('a watched folder', async () => {
  const seen = []
  const watch = await files.watchDir('x', ({ name, type }) => void seen.push(`${type} ${name}`))
  await files.write('x/f', '1')
  await files.remove('x/f')
  await until(() => seen.includes('remove f'))
  assert.deepEqual(seen, ['create f', 'chmod f', 'write f', 'remove f'])
  await watch.stop()
})

await step('events of a watched folder with their entries', async () => {
  const seen = []
  const watch = await files.watchDir('x', (event) => void seen.push(event), { includeEntry: true })
  await files.write('x/g', '12')
  await until(() => seen.some(({ type }) => type === 'write'))
  // Early clients do not have the option.
  for (const { entry } of seen) assert(entry === undefined || entry.size === 2)
  await watch.stop()
})

await step('signed addresses of files', async () => {
  const get = async (options) => fetch(await sandbox.downloadUrl('m/1', options))
  const headers = { 'e2b-sandbox-id': sandbox.sandboxId, 'e2b-sandbox-port': '49983' }
  const address = await sandbox.downloadUrl('m/1', { useSignatureExpiration: 60 })
  assert.equal(await (await fetch(address, { headers })).text(), '1')
  assert.equal((await fetch(address.replace('m%2F1', 'bytes'), { headers })).status, 401)
  // The address alone does not say which sandbox it is for, unless it has the sandbox's own host.
  assert.equal((await get()).status, 404)
  // A content without a file name.
  const upload = async (options) => {
    const body = new FormData()
    body.append('file', 'content')
    const answer = await fetch(await sandbox.uploadUrl('signed.txt', options), { method: 'POST', headers, body })
    return [answer.status, await answer.json()]
  }
  assert.deepEqual(await upload({ useSignatureExpiration: 60 }), [
    200,
    [{ name: 'signed.txt', type: 'file', path: '/home/user/signed.txt' }],
  ])
  assert.equal(await files.read('signed.txt'), 'content')
  const expired = [401, { code: 401, message: 'signature is already expired' }]
  assert.deepEqual(await upload({ useSignatureExpiration: -60 }), expired)
  const download = await fetch(await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -60 }), { headers })
  assert.deepEqual([download.status, await download.json()], expired)
})

await step('lists', async () => {
  const mine = { metadata: { 'a&b': 'c d=é' } }
  const pages = Sandbox.list({ query: mine, limit: 1 })
  assert.deepEqual(
    (await pages.nextItems()).map(({ sandboxId }) => sandboxId),
    [sandbox.sandboxId],
  )
  assert.equal(pages.hasNext, false)
  const paused = Sandbox.list({ query: { ...mine, state: ['paused'] } })
  assert.deepEqual(await paused.nextItems(), [])
})

await step('what a sandbox uses', async () => {
  const [figures] = (await sandbox.getMetrics()).slice(-1)
  assert.equal(figures.cpuCount, 1)
  assert(figures.memUsed > 0 && figures.memUsed <= figures.memTotal)
})

await step('a pause keeps processes, and a second one says that it is paused', async () => {
  const pause = () => (sandbox.pause ?? sandbox.betaPause).call(sandbox)
  const command = await commands.run('while :; do sleep 0.1; [ -e /tmp/end ] && exit; done', { background: true })
  assert.equal(await pause(), true)
  assert.equal(await sandbox.isRunning(), false)
  assert.equal(await pause(), false)
  const [listed] = await Sandbox.list({ query: { state: ['paused'] } }).nextItems()
  assert.equal(listed.sandboxId, sandbox.sandboxId)
  const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
  assert.equal(await again.isRunning(), true)
  const left = ((await again.getInfo()).endAt - Date.now()) / 1000
  assert(left > 500 && left <= 600, `${left} s left`)
  assert((await again.commands.list()).some(({ pid }) => pid === command.pid))
  await again.files.write('/tmp/end', '')
})

if (sandbox.pause !== undefined) {
  await step('a pause without memory keeps files, and boots anew', async () => {
    const bootId = () => files.read('/proc/sys/kernel/random/boot_id')
    const before = await bootId()
    await files.write('kept', 'content')
    await sandbox.pause({ keepMemory: false })
    assert.equal(await sandbox.isRunning(), false)
    await sandbox.connect({ timeoutMs: 600_000 })
    assert.equal(await files.read('kept'), 'content')
    // The earliest client with this method always keeps the memory.
    if (sandbox.fork !== undefined) assert.notEqual(await bootId(), before)
  })
}

await step('a timeout is set anew, and never shortened by a connection', async () => {
  const left = async () => ((await sandbox.getInfo()).endAt - Date.now()) / 1000
  await sandbox.setTimeout(100_000)
  assert((await left()) <= 100)
  await sandbox.setTimeout(900_000)
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 })
  assert((await left()) > 800)
})

if (sandbox.createSnapshot !== undefined) {
  await step('a snapshot by its id and by its name', async () => {
    const { snapshotId, names } = await sandbox.createSnapshot({ name: 'my-snapshot' })
    assert.deepEqual(names, ['my-snapshot'])
    for (const source of [snapshotId, 'my-snapshot']) {
      const other = await Sandbox.create(source)
      assert.equal(await other.files.read('m/1'), '1')
      await other.kill()
    }
    const [listed] = await Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId }).nextItems()
    assert.equal(listed.snapshotId, snapshotId)
    assert.equal(await Sandbox.deleteSnapshot(snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(snapshotId), false)
  })
}

if (sandbox.fork !== undefined) {
  await step('forks', async () => {
    const forks = await sandbox.fork({ count: 2, timeoutMs: 200_000 })
    assert.equal(forks.length, 2)
    for (const fork of forks) {
      assert.equal(await fork.files.read('m/1'), '1')
      assert.deepEqual((await fork.getInfo()).metadata, { 'a&b': 'c d=é' })
      await fork.kill()
    }
  })
}

await step('a sandbox that is killed ends what is open, and is gone', async () => {
  const command = await commands.run('sleep 60', { background: true })
  assert.equal(await sandbox.kill(), true)
  const error = await errorOf(command.wait())
  assert.match(error.message, /killed or reached its end of life|terminated/)
  assert.equal(await sandbox.isRunning(), false)
  assert.equal(await sandbox.kill(), false)
  assert.match((await errorOf(Sandbox.connect(sandbox.sandboxId))).constructor.name, /NotFoundError$/)
})

await step('a template without an MCP gateway says so', async () => {
  const error = await errorOf(Sandbox.create({ mcp: { none: {} }, timeoutMs: 60_000 }))
  assert.match(error.message, /Failed to start MCP gateway.*not found|^exit status 127$/s)
})

await step('refusals', async () => {
  assert.match((await errorOf(Sandbox.create('no-such-template'))).message, /404.*no-such-template/)
  const denied = await errorOf(Sandbox.create({ apiKey: `e2b_${'00'.repeat(45)}` }))
  assert.equal(denied.constructor.name, 'AuthenticationError')
})

import { randomUUID } from 'node:crypto'
import {
  AuthenticationError,
  CommandFailedError,
  CommandTimeoutError,
  MissingDataError,
  NotFoundError,
  Offshoot as Client,
  type Sandbox,
} from '@offshoot/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import { until } from './setup/until.ts'

describe('the SDK', () => {
  let offshoot: Offshoot
  let client: Client
  let sandbox: Sandbox

  beforeAll(async () => {
    offshoot = await borrow()
    const { base_url: baseUrl, api_key: apiKey } = offshoot.credentials
    client = new Client({ baseUrl, apiKey })
    sandbox = await client.sandboxes.create({ template: 'minimal', metadata: { snake_key: 'kept' } })
  })
  afterAll(giveBack)

  it('creates, finds, lists and deletes sandboxes', async () => {
    expect(sandbox.info).toMatchObject({ template: 'minimal', status: 'running', metadata: { snake_key: 'kept' } })
    expect(sandbox.info.bootMs).toBeGreaterThan(0)
    const found = await client.sandboxes.get(sandbox.id)
    expect(await found.refresh()).toEqual(found.info)
    const listed = await client.sandboxes.list({ metadata: { snake_key: 'kept' }, status: ['running'] }).all()
    expect(listed.map(({ id }) => id)).toEqual([sandbox.id])
    expect(await client.sandboxes.list({ metadata: { snake_key: 'other' } }).first()).toBeNull()
    await expect(client.sandboxes.get(randomUUID())).rejects.toBeInstanceOf(NotFoundError)
    await client.sandboxes.delete(randomUUID())
    const stranger = new Client({ baseUrl: client.baseUrl, apiKey: 'ofs_unknown' })
    await expect(stranger.sandboxes.get(sandbox.id)).rejects.toBeInstanceOf(AuthenticationError)
  })

  it('runs commands, and throws for a failing one only when asked', async () => {
    const result = await sandbox.exec('echo out; echo err >&2; exit 3', { env: { A_B: 'x' } })
    expect(result).toMatchObject({ stdout: 'out\n', stderr: 'err\n', exitCode: 3, isTruncated: false })
    expect(result.durationMs).toBeGreaterThanOrEqual(0)
    await expect(sandbox.exec('exit 3', { check: true })).rejects.toMatchObject({ result: { exitCode: 3 } })
    await expect(sandbox.exec(['false'], { check: true })).rejects.toBeInstanceOf(CommandFailedError)
    expect((await sandbox.exec(['echo', '$HOME'])).stdout).toBe('$HOME\n')
    expect((await sandbox.exec('cat', { stdin: 'ä' })).stdout).toBe('ä')
    expect((await sandbox.exec('cat', { stdin: new TextEncoder().encode('ä') })).stdout).toBe('ä')
    const slow = sandbox.exec('echo begun; sleep 600', { timeoutSeconds: 1 })
    await expect(slow).rejects.toMatchObject({ name: CommandTimeoutError.name, stdout: 'begun\n' })
  })

  it('streams output, and kills the command when the caller leaves or aborts', async () => {
    const stream = sandbox.exec.stream('printf "\\377"; echo end >&2', { encoding: 'bytes' })
    const chunks = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks).toContainEqual({ stream: 'stdout', data: Uint8Array.of(0xff) })
    expect(await stream.exit).toMatchObject({ exitCode: 0 })
    for await (const { data } of sandbox.exec.stream('echo ready; sleep 7771')) {
      expect(data).toBe('ready\n')
      break
    }
    const aborter = new AbortController()
    const aborted = sandbox.exec('echo ready; sleep 7772', {
      signal: aborter.signal,
      onOutput: () => aborter.abort(new Error('enough')),
    })
    await expect(aborted).rejects.toThrow('enough')
    await until('no command left', async () => !(await sandbox.exec('ps')).stdout.includes('sleep 777'))
  })

  it('starts commands that outlive the connection', async () => {
    const command = await sandbox.commands.start('while read line; do echo "got $line"; done', { stdinOpen: true })
    await command.write('one\n')
    for await (const { data, offset } of command.output()) {
      expect([data, offset]).toEqual(['got one\n', 8])
      break
    }
    const again = await sandbox.commands.get(command.id)
    expect(again.pid).toBe(command.pid)
    await again.write(new TextEncoder().encode('two\n'))
    await again.closeStdin()
    expect(await again.wait()).toMatchObject({ exitCode: 0, status: 'exited', outputBytes: 16 })
    const rest = []
    for await (const { data } of again.output({ offset: 8 })) rest.push(data)
    expect(rest.join('')).toBe('got two\n')
    expect((await sandbox.commands.list()).map(({ execId }) => execId)).toContain(command.id)
    await again.delete()
    await expect(again.info()).rejects.toBeInstanceOf(NotFoundError)

    const sized = await sandbox.commands.start('sleep 600', { pty: { rows: 10, cols: 20 } })
    await sized.resize({ rows: 11, cols: 21 })
    await sized.signal('SIGTERM')
    expect((await sized.wait()).exitCode).toBe(143)
    await sized.kill()
  })

  it('says which output is lost', { tags: ['faults'] }, async () => {
    const command = await sandbox.commands.start('head -c 3000000 /dev/zero | tr "\\0" x')
    await command.wait()
    const read = async (onGap?: (gap: { from: number; to: number }) => void) => {
      let bytes = 0
      for await (const { data } of command.output({ offset: 0, encoding: 'bytes', ...(onGap && { onGap }) }))
        bytes += data.length
      return bytes
    }
    await expect(read()).rejects.toBeInstanceOf(MissingDataError)
    let lost = 0
    const bytes = await read(({ from, to }) => (lost += to - from))
    expect(bytes + lost).toBe(3_000_000)
  })

  it('opens a terminal', async () => {
    const terminal = await sandbox.terminal({ rows: 10, cols: 50 })
    terminal.resize({ rows: 12, cols: 60 })
    terminal.write('stty size; exit 5\n')
    let shown = ''
    for await (const bytes of terminal) shown += new TextDecoder().decode(bytes)
    expect(shown).toContain('12 60')
    expect(await terminal.exit).toBe(5)
  })

  it('reads, writes, lists and watches files', async () => {
    const { files } = sandbox
    const changes = files.watch('/tmp')
    const first = changes.next()
    await until('a change seen', async () => {
      await files.write('/tmp/beat', randomUUID())
      return Promise.race([first.then(() => true), new Promise((r) => setTimeout(r, 100, false))])
    })
    await changes.return()
    expect(await files.write('/data/a/text', 'äb', { mode: '0600' })).toMatchObject({ bytes: 3 })
    expect(await files.read('/data/a/text')).toBe('äb')
    expect(await files.readBytes('/data/a/text', { offset: 2, length: 1 })).toEqual(new TextEncoder().encode('b'))
    await files.write('/tmp/empty', '')
    expect(await files.readBytes('/tmp/empty', { length: 1 })).toEqual(new Uint8Array())
    expect(await files.read('/tmp/empty', { offset: 1 })).toBe('')
    await files.write('/data/a/stream', new Blob(['streamed']).stream())
    expect(await new Response(await files.readStream('/data/a/stream')).text()).toBe('streamed')
    expect((await files.list('/data', { depth: 2 })).map(({ path }) => path)).toEqual([
      '/data/a',
      '/data/a/stream',
      '/data/a/text',
    ])
    await files.mkdir('/data/b/c')
    await files.move('/data/a/text', '/data/b/c/text')
    expect(await files.stat('/data/b/c/text')).toMatchObject({ size: 3, mode: '0600', isDir: false })
    expect([await files.exists('/data/a/text'), await files.exists('/data/b/c/text')]).toEqual([false, true])
    const archive = await new Response(await files.download('/data/b')).arrayBuffer()
    await files.upload('/copy', archive)
    expect(await files.read('/copy/c/text')).toBe('äb')
    await files.remove('/data', { recursive: true })
    await expect(files.read('/data/b/c/text')).rejects.toBeInstanceOf(NotFoundError)
  })

  it('gives ports an address', async () => {
    expect(await sandbox.ports.url(3000)).toMatch(`3000-${sandbox.id}`)
    expect(await sandbox.ports.add(3000, { label: 'web' })).toMatchObject({ label: 'web', source: 'user' })
    await sandbox.commands.start(['nc', '-l', '-p', '3000'])
    expect(await sandbox.ports.wait(3000)).toMatchObject({ port: 3000, listening: true })
    await sandbox.ports.remove(3000)
  })

  it('pauses, hibernates and wakes, and follows the events without a gap', { tags: ['long'] }, async () => {
    const seen: string[] = []
    const aborter = new AbortController()
    const following = (async () => {
      let last = 0
      for await (const { type, number } of sandbox.events({ since: 0, signal: aborter.signal })) {
        expect(number).toBe(last + 1)
        last = number
        seen.push(type)
        if (type === 'sandbox.woken') break
      }
    })()
    expect((await sandbox.pause()).info.status).toBe('paused')
    expect((await sandbox.resume()).info.status).toBe('running')
    expect((await sandbox.hibernate()).info.status).toBe('hibernated')
    // The stream of events breaks and continues.
    await offshoot.killService('control')
    expect((await sandbox.wake()).info.status).toBe('running')
    await following
    expect(seen).toEqual(expect.arrayContaining(['sandbox.paused', 'sandbox.hibernated', 'sandbox.woken']))
    expect((await sandbox.pastEvents({ tail: 1 })).map(({ type }) => type)).toEqual(['sandbox.woken'])
    expect(await sandbox.setLifecycle({ ttlSeconds: 900, onTimeout: 'pause' })).toMatchObject({ onTimeout: 'pause' })
    expect(await sandbox.lifecycle()).toMatchObject({ ttlSeconds: 900 })
    const lines = await sandbox.logs({ tail: 5, stream: 'both' })
    expect(lines.length).toBeGreaterThan(0)
    for await (const line of sandbox.followLogs({ tail: 1 })) {
      expect(line).toEqual(lines.at(-1))
      break
    }
    expect((await sandbox.metrics()).now.diskBytes).toBeGreaterThan(0)
  })

  it('leaves nothing of a create whose answer was lost by an abort', async () => {
    const aborter = new AbortController()
    const reason = new Error('enough')
    const metadata = { purpose: 'aborted' }
    // The sandbox is there, and its id does not arrive.
    const { base_url: baseUrl, api_key: apiKey } = offshoot.credentials
    const lossy = new Client({
      baseUrl,
      apiKey,
      fetch: async (...request) => {
        const answer = await fetch(...request)
        aborter.abort(reason)
        return answer
      },
    })
    const create = lossy.sandboxes.create({ template: 'minimal', metadata, signal: aborter.signal })
    await expect(create).rejects.toBe(reason)
    await lossy.settled()
    expect(await client.sandboxes.list({ metadata }).all()).toEqual([])
  })

  it('snapshots and forks', async () => {
    await sandbox.files.write('/tmp/mark', 'parent')
    const snapshot = await sandbox.snapshot({ name: 'sdk' })
    const copy = await client.sandboxes.create({ fromSnapshot: snapshot.id })
    expect(copy.info.template).toBe('minimal')
    expect(await copy.files.read('/tmp/mark')).toBe('parent')
    const child = await sandbox.fork({ metadata: { role: 'child' } })
    expect(child.info).toMatchObject({ parentId: sandbox.id, metadata: { role: 'child' } })
    // `await using` calls this. The import check cannot parse `using` itself.
    for (const made of [copy, child]) {
      await made[Symbol.asyncDispose]()
      await expect(made.refresh()).rejects.toBeInstanceOf(NotFoundError)
    }
    await (await client.sandboxes.get(sandbox.id))[Symbol.asyncDispose]()
    expect((await sandbox.refresh()).status).toBe('running')
    const children = await sandbox.fork({ count: 2 })
    const [winner] = children.sandboxes
    expect([children.sandboxes.length, children.errors]).toEqual([2, []])
    expect(await winner?.promote()).toMatchObject({ winner: winner?.id, deleted: [children.sandboxes[1]?.id] })
    const { rootId, nodes, truncated } = await sandbox.lineage()
    expect([rootId, truncated]).toEqual([sandbox.id, false])
    expect(nodes.find(({ id }) => id === winner?.id)).toMatchObject({ link: 'fork', promoted: true, deletedAt: null })
    expect(nodes.find(({ id }) => id === copy.id)).toMatchObject({ parentId: snapshot.id, status: 'deleted' })
    await children.delete()
    await client.request('DELETE /v1/snapshots/{id}', { path: { id: snapshot.id } })
  })

  it('sends requests to any route', async () => {
    const templates = await client.request('GET /v1/templates', { query: { name: 'minimal' } })
    expect(templates.map(({ name }) => name)).toEqual(['minimal'])
    const ids = []
    for await (const { id } of client.list('GET /v1/sandboxes', { query: { limit: 1 } })) ids.push(id)
    expect(ids).toContain(sandbox.id)
    const response = await client.fetch('GET /metrics')
    expect(await response.text()).toContain('# HELP')
    await expect(client.request('GET /v1/builds/{id}', { path: { id: '..' } })).rejects.toThrow(TypeError)
  })
})

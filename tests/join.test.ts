import { X509Certificate } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { dataLayout } from '@offshoot/up/base/data-layout'
import { hostFiles } from '@offshoot/up/join/membership'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call } from './setup/http.ts'
import { GitHost } from './setup/git-host.ts'
import { JoinedMachine } from './setup/joined-machine.ts'
import { nodeApp } from './setup/node-app.ts'
import { imagesDir, Offshoot } from './setup/offshoot.ts'
import { visit } from './setup/preview.ts'
import { layOutAgentFromSeed } from './setup/seed.ts'
import { until } from './setup/until.ts'
import { Visitors } from './setup/visitors.ts'

const TEMPLATES = ['minimal', 'app'] as const
/** Milliseconds until an app is built on an emulated CPU of a busy machine. */
const BUILD_MS = 180_000
/** Requests of visitors per second while an app moves. */
const PER_SECOND = 20

const sandboxesOf = async ({ dataDir }: { readonly dataDir: string }) => readdir(join(dataDir, 'agent/sandboxes'))

const isRoot = process.getuid?.() === 0

describe.skipIf(!isRoot)('bin/up --join', () => {
  let first: Offshoot
  let second: JoinedMachine
  let sandbox: string
  let git: GitHost
  let store: string

  beforeAll(async () => {
    store = await mkdtemp(join(tmpdir(), 'offshoot-objects-'))
    const times = { copy_after_seconds: 1, lost_after_seconds: 5 }
    const settings = { objects: { folder: store }, ...times, database_leases: true }
    git = await GitHost.start()
    const env = { OFFSHOOT_EGRESS_ALLOW: git.exception }
    first = await Offshoot.start('join', { settings, env, templates: TEMPLATES })
    // So everything runs on the second machine, until that is drained.
    await asOperator('POST', '/v1/admin/hosts/self/cordon')
    second = new JoinedMachine({ ...env, OFFSHOOT_TEMPLATES: TEMPLATES.join(',') })
    await layOutAgentFromSeed(second.dataDir, imagesDir, TEMPLATES)
    await second.layOut(first.credentials.base_url)
  })

  afterAll(async () => {
    await second?.destroy()
    await first?.destroy()
    await git?.stop()
    await rm(store, { recursive: true })
  })

  const asOperator = async (method: string, path: string, body?: object) => {
    const { base_url: url, operator_key: key } = first.credentials
    return call(method, url + path, { headers: { authorization: `Bearer ${key}` }, ...(body && { body }) })
  }
  const authority = async () => (await asOperator('GET', '/v1/admin/hosts/authority')).body
  const isReplaced = async () => {
    const { step, waiting } = await authority()
    return step === 'settled' && waiting === 0
  }
  const makeToken = async () => (await asOperator('POST', '/v1/admin/hosts/tokens')).body.token as string
  const member = async () => JSON.parse(await readFile(hostFiles(dataLayout(second.dataDir, '/')).record, 'utf8'))
  const firstHost = async () => {
    const { host_id: id } = await member()
    const hosts = (await asOperator('GET', '/v1/admin/hosts')).body as { id: string }[]
    return hosts.find((host) => host.id !== id)?.id ?? ''
  }
  const lease = async () => {
    const { host_id: id } = await member()
    return (await asOperator('GET', `/v1/admin/hosts/${id}`)).body.lease
  }
  const agentLog = () => readFile(join(second.dataDir, 'logs/agent.log'), 'utf8')

  it('refuses a wrong token and a missing one, and leaves the machine as it was', async () => {
    expect(await second.up('--join', second.controlUrl, '--token', `oht_${'x'.repeat(43)}`)).toBe(1)
    expect(second.output).toContain('refuses this host (401)')
    expect(await second.up('--join', second.controlUrl)).toBe(1)
    expect(second.output).toContain('--join needs a token')
    expect(await second.up('--join', 'http://api.example', '--token', 'x')).toBe(2)
    await expect(stat(hostFiles(dataLayout(second.dataDir, '/')).record)).rejects.toThrow('ENOENT')
  })

  it('makes a machine a host that takes sandboxes', async () => {
    const refused = await first.request('POST', '/v1/sandboxes', { body: { template: 'minimal' } })
    expect(refused).toMatchObject({ status: 502, body: { error: 'no available compute node' } })
    expect(await second.up('--join', second.controlUrl, '--token', await makeToken())).toBe(null)
    const { host_id: id } = await member()
    await until('the host to be ready', async () => {
      const { body } = await asOperator('GET', '/v1/admin/hosts')
      return body.some((host: { id: string; state: string }) => host.id === id && host.state === 'ready')
    })
    const { id: made } = await first.create({ template: 'minimal', persistent: true })
    sandbox = made
    expect(await first.exec(sandbox, 'echo from afar')).toMatchObject({ stdout: 'from afar\n', exit_code: 0 })
    const { body } = await asOperator('GET', '/v1/admin/hosts')
    const host = body.find((each: { id: string }) => each.id === id)
    expect(host).toMatchObject({ url: `https://${second.address}:7443`, sandboxes: 1 })
  })

  it('serves its ports through the edge, and uploads through control', async () => {
    const cmd = `while true; do printf 'HTTP/1.0 200 OK\\r\\n\\r\\nhello' | nc -l -p 8000; done >/dev/null 2>&1 &`
    await first.exec(sandbox, cmd)
    await until('the page of the sandbox', async () => (await visit(first, sandbox, 8000)).text === 'hello')
    const path = `/v1/sandboxes/${sandbox}/fs?path=/tmp/file`
    expect((await first.request('PUT', path, { body: 'x'.repeat(1_000_000) })).status).toBeLessThan(300)
    expect((await first.exec(sandbox, 'wc -c < /tmp/file')).stdout.trim()).toBe('1000000')
  })

  it('starts again without a token, and finds its sandboxes', { tags: ['faults'] }, async () => {
    await second.stop()
    expect(await second.up()).toBe(null)
    await until('the sandbox', async () => {
      const answer = await first.request('POST', `/v1/sandboxes/${sandbox}/exec`, { body: { cmd: 'echo back' } })
      return answer.status === 200 && answer.body.stdout === 'back\n'
    })
    expect(await second.up('--join', 'https://elsewhere.example', '--token', 'x')).toBe(1)
  })

  it('renews its certificate, which the agent takes at once', { tags: ['faults'] }, async () => {
    const files = hostFiles(dataLayout(second.dataDir, '/'))
    const before = await readFile(files.identity, 'utf8')
    await second.run(resolve(import.meta.dirname, 'setup/renew-certificate.ts'), second.dataDir)
    expect(await readFile(files.identity, 'utf8')).not.toBe(before)
    await until('the agent to take it', async () => (await agentLog()).includes('certificate of this host renewed'))
    expect((await first.exec(sandbox, 'echo renewed')).stdout).toBe('renewed\n')
  })

  it('works on while the authority is replaced, and trusts the new one alone', { tags: ['long'] }, async () => {
    const { current: old } = await authority()
    expect((await asOperator('POST', '/v1/admin/hosts/authority/rotate')).status).toBe(202)
    await until('the new authority', isReplaced, 180_000)
    const trusted = await readFile(hostFiles(dataLayout(second.dataDir, '/')).authority, 'utf8')
    const { fingerprint256 } = new X509Certificate(trusted)
    expect(trusted.match(/BEGIN CERTIFICATE/g)).toHaveLength(1)
    const { current } = await authority()
    expect(fingerprint256.replaceAll(':', '').toLowerCase()).toBe(current.sha256)
    expect(current.sha256).not.toBe(old.sha256)
    expect((await first.exec(sandbox, 'echo replaced')).stdout).toBe('replaced\n')
    await until('the page of the sandbox', async () => (await visit(first, sandbox, 8000)).text === 'hello')
  })

  it('joins again with its data if the authority was replaced while it was away', { tags: ['long'] }, async () => {
    await second.stop()
    expect((await asOperator('POST', '/v1/admin/hosts/authority/rotate')).status).toBe(202)
    for (const reason of ['one', 'two'])
      expect((await asOperator('POST', '/v1/admin/hosts/authority/advance', { reason })).status).toBe(202)
    expect((await authority()).step).toBe('settled')
    const { host_id: id } = await member()
    expect(await second.up('--join', second.controlUrl, '--token', await makeToken())).toBe(1)
    expect(second.output).toContain('a host that joins again needs a token that was made for it')
    const { body } = await asOperator('POST', '/v1/admin/hosts/tokens', { host_id: id })
    expect(await second.up('--join', second.controlUrl, '--token', body.token)).toBe(null)
    await until('the sandbox', async () => {
      const answer = await first.request('POST', `/v1/sandboxes/${sandbox}/exec`, { body: { cmd: 'echo again' } })
      return answer.status === 200 && answer.body.stdout === 'again\n'
    })
    await until('the host to use the new authority', isReplaced, 180_000)
  })

  it(
    'loses a sandbox that sleeps and a snapshot to another host while it is cut off, with their memory',
    { tags: ['long'] },
    async () => {
      const { id: asleep } = await first.create({ template: 'minimal', persistent: true })
      await first.exec(asleep, 'echo kept > /root/file; sleep 100000 > /dev/null 2>&1 & echo $! > /tmp/pid')
      const { body: snapshot } = await first.request('POST', `/v1/sandboxes/${asleep}/snapshots`, { body: {} })
      expect((await first.request('POST', `/v1/sandboxes/${asleep}/hibernate`)).status).toBe(200)
      await until('a copy of both', async () => {
        const { text } = await call('GET', `${first.credentials.base_url}/metrics`)
        const isStored = (kind: string) => text.includes(`offshoot_${kind}_copies{status="stored"} 1\n`)
        return isStored('sandbox') && isStored('snapshot')
      })
      const other = await firstHost()
      expect((await asOperator('POST', `/v1/admin/hosts/${other}/uncordon`)).status).toBe(200)
      await second.connect(false)
      try {
        await until('the sandbox on the first host', async () => {
          const cmd = 'cat /root/file; tr "\\0" " " < /proc/$(cat /tmp/pid)/cmdline'
          const { status, body } = await first.request('POST', `/v1/sandboxes/${asleep}/exec`, { body: { cmd } })
          if (status !== 200) return false
          expect(body).toMatchObject({ stdout: 'kept\nsleep 100000 ', exit_code: 0 })
          return true
        })
        expect((await first.exec(asleep, 'echo later > /root/file; cat /root/file')).stdout).toBe('later\n')
        await until('the end of its lease', async () => (await lease()).ended_at !== null)
        const { id: copy } = await first.create({ from_snapshot: snapshot.id })
        expect((await first.exec(copy, 'cat /root/file; kill -0 $(cat /tmp/pid) && echo runs')).stdout).toBe(
          'kept\nruns\n',
        )
        expect((await first.request('DELETE', `/v1/sandboxes/${copy}`)).status).toBe(204)
      } finally {
        await second.connect(true)
      }
      await until('the second host to have removed it', async () => {
        return !(await readdir(join(second.dataDir, 'agent/sandboxes'))).includes(asleep)
      })
      await until('another lease', async () => (await lease()).ended_at === null)
      expect((await first.exec(asleep, 'cat /root/file')).stdout).toBe('later\n')
      expect((await first.request('DELETE', `/v1/snapshots/${snapshot.id}`)).status).toBe(204)
      expect((await first.exec(sandbox, 'echo untouched')).stdout).toBe('untouched\n')
      expect((await first.request('DELETE', `/v1/sandboxes/${asleep}`)).status).toBe(204)
      expect((await asOperator('POST', `/v1/admin/hosts/${other}/cordon`)).status).toBe(200)
    },
  )

  it(
    'loses an app to another host while it is cut off, and takes it back when that is drained, without a failed request',
    { tags: ['long'] },
    async () => {
      await git.commit('app', nodeApp('one'))
      const { body: app } = await first.request('POST', '/v1/apps', {
        body: { name: 'app', git_url: git.urlOf('app') },
      })
      const visited = { url: `${first.credentials.edge_url}/`, host: new URL(app.url).host }
      const page = async () => call('GET', visited.url, { headers: { host: visited.host } })
      const isServed = async () => (await page()).status === 200
      const serving = async () => {
        const { body: shown } = await first.request('GET', `/v1/apps/${app.id}`)
        const path = `/v1/apps/${app.id}/deploys/${shown.active_deployment_id}`
        return (await first.request('GET', path)).body.sandbox_id as string
      }
      await first.request('POST', `/v1/apps/${app.id}/deploys`)
      await until('the app to be served', isServed, BUILD_MS)
      const lost = await serving()
      expect(await sandboxesOf(second)).toContain(lost)
      const other = await firstHost()
      await asOperator('POST', `/v1/admin/hosts/${other}/uncordon`)
      await second.connect(false)
      try {
        await until('another version to be live', async () => (await serving()) !== lost, BUILD_MS)
        await until('it to be served', isServed)
        expect(await sandboxesOf(first)).toContain(await serving())
      } finally {
        await second.connect(true)
      }
      await until('the old version to be removed', async () => !(await sandboxesOf(second)).includes(lost))
      const { text: answer } = await page()
      const visitors = new Visitors({ ...visited, perSecond: PER_SECOND, webSockets: 0 })
      await asOperator('POST', `/v1/admin/hosts/${other}/drain`)
      const isDrained = async () => {
        const { body } = await asOperator('GET', `/v1/admin/hosts/${other}`)
        return body.drain.ended_at === null ? null : body
      }
      const drained = await until('the first host to be empty', isDrained, BUILD_MS)
      await visitors.stop()
      expect(drained).toMatchObject({ instances: 0, drain: { moved: 1, failed: 0, staying: 0 } })
      expect([...visitors.seen]).toEqual([[answer, visitors.requests]])
      expect(await sandboxesOf(second)).toContain(await serving())
      expect((await first.request('DELETE', `/v1/apps/${app.id}`)).status).toBe(204)
    },
  )

  it('gives its sandboxes and snapshots to another host, with their processes, when it is drained', async () => {
    const { host_id: id } = await member()
    const beats = `while true; do date +%s%N > /tmp/beat; sleep 0.2; done`
    await first.exec(sandbox, `echo kept > /root/file; sh -c '${beats}' > /dev/null 2>&1 & echo $! > /tmp/pid`)
    const { body: snapshot } = await first.request('POST', `/v1/sandboxes/${sandbox}/snapshots`, { body: {} })
    expect((await asOperator('DELETE', `/v1/admin/hosts/${id}`)).status).toBe(409)
    const other = await firstHost()
    await asOperator('POST', `/v1/admin/hosts/${other}/uncordon`)
    expect((await asOperator('POST', `/v1/admin/hosts/${id}/drain`)).body).toMatchObject({ state: 'draining' })
    await until('the host to be empty', async () => {
      const { body } = await asOperator('GET', `/v1/admin/hosts/${id}`)
      if (body.drain.ended_at === null) return false
      expect(body).toMatchObject({ state: 'cordoned', sandboxes: 0, drain: { moved: 2, failed: 0, staying: 0 } })
      return true
    })
    const shown = await first.exec(sandbox, 'cat /root/file; kill -0 $(cat /tmp/pid) && cat /tmp/beat')
    const [file, beat] = shown.stdout.trim().split('\n')
    expect([file, shown.exit_code]).toEqual(['kept', 0])
    const { id: copy } = await first.create({ from_snapshot: snapshot.id })
    expect(await first.exec(copy, 'cat /root/file; kill -0 $(cat /tmp/pid)')).toMatchObject({
      stdout: 'kept\n',
      exit_code: 0,
    })
    expect((await first.request('DELETE', `/v1/sandboxes/${copy}`)).status).toBe(204)
    await until('the snapshot to be removed there', async () => {
      return !(await readdir(join(second.dataDir, 'agent/snapshots'))).includes(snapshot.id)
    })
    await until('the process to go on', async () => (await first.exec(sandbox, 'cat /tmp/beat')).stdout.trim() !== beat)
    await until('the page of the sandbox', async () => (await visit(first, sandbox, 8000)).text === 'hello')
    const { body: events } = await first.request('GET', `/v1/events?sandbox_id=${sandbox}&limit=100`)
    expect(events).toContainEqual(expect.objectContaining({ type: 'sandbox.hibernated', agent_id: id }))
    expect(events).toContainEqual(expect.objectContaining({ type: 'sandbox.woken', agent_id: other }))
    expect(JSON.stringify(events)).not.toMatch(/"cold":true|sandbox\.deleted/)
  })

  it('ends with the removal of the host', async () => {
    const { host_id: id } = await member()
    expect((await asOperator('DELETE', `/v1/admin/hosts/${id}`)).status).toBe(204)
    const renewal = second.run(resolve(import.meta.dirname, 'setup/renew-certificate.ts'), second.dataDir)
    await expect(renewal).rejects.toThrow('refuses this host (401)')
    expect((await first.exec(sandbox, 'echo still')).stdout).toBe('still\n')
    expect((await asOperator('GET', '/v1/admin/hosts')).body).toHaveLength(1)
  })
})

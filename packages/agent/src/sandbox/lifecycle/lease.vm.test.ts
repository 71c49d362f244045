import { randomUUID } from 'node:crypto'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentInfo } from '@offshoot/contract/agent-api'
import type { AgentQuarantine } from '@offshoot/contract/agent-quarantine'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uptimeMs } from '../../store/lease/host-lease.ts'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { LeaseGiver } from '../../test/lease-giver.ts'

/** Seconds for which a test renews the lease while it prepares, and until a lease ends that it lets end. */
const LONG = 600
const SHORT = 4
/** Milliseconds after the end for which control waits at least before it declares the end. */
const MARGIN_MS = 1_000

/** Waits until control could bring a VM up elsewhere, and a while longer. */
const expectEnded = async (endsAtMs: number) => eventually('the end', async () => uptimeMs() > endsAtMs + 3 * MARGIN_MS)

describe.runIf(process.getuid?.() === 0)('a durable VM on a host with leases', { tags: ['faults'] }, () => {
  let agent: AgentProcess
  let leases: LeaseGiver
  /** It writes to its console, which is a file of the host, all the time. */
  let id: string

  beforeAll(async () => {
    agent = await AgentProcess.create(undefined, { leases: true })
    leases = new LeaseGiver(agent)
    await agent.start()
    id = (await agent.created()).id
    await makeDurable()
    await renew(LONG)
    await agent.sh(id, 'echo kept > /root/file; sync')
    await startWriter()
  })
  afterAll(() => agent.destroy())

  /** No template of these tests is of a database. */
  async function makeDurable(): Promise<void> {
    expect((await agent.act(id, 'hibernate')).status).toBe(200)
    await agent.stop()
    const path = join(agent.dataDir, 'sandboxes', id, 'manifest.json')
    const manifest = JSON.parse(await readFile(path, 'utf8')) as object
    await writeFile(path, JSON.stringify({ ...manifest, durable: true }))
    await agent.start()
    expect((await agent.act(id, 'wake')).status).toBe(200)
  }

  const startWriter = () => agent.sh(id, '(while :; do echo written; sleep 0.02; done) > /dev/ttyS0 2>&1 & echo $!')
  const renew = (seconds: number) => leases.renew(seconds)
  const console = () => join(agent.dataDir, 'sandboxes', id, 'vm/console.log')
  const size = async () => (await stat(console())).size
  async function writes(): Promise<void> {
    const before = await size()
    await eventually('writes', async () => (await size()) > before + 100)
  }
  /** When it wrote last, in milliseconds since the host's boot. */
  async function lastWriteMs(path = console()): Promise<number> {
    const agoMs = Date.now() - (await stat(path)).mtimeMs
    return uptimeMs() - agoMs
  }
  async function expectStopped(endsAtMs: number): Promise<void> {
    await expectEnded(endsAtMs)
    expect(await lastWriteMs()).toBeLessThan(endsAtMs + MARGIN_MS)
  }
  const lease = async () =>
    (await agent.call<AgentInfo>('GET', '/v1/agent', { workspace: null })).body.lease ?? {
      left_ms: -1,
      stopped_vms: -1,
    }
  const pid = async () => (await agent.vms())[0]?.process.pid
  const stopAgent = (signal: 'SIGSTOP' | 'SIGCONT') => process.kill(agent.pid, signal)

  it('writes nothing while control is away for longer than the lease, and then goes on where it was', async () => {
    await writes()
    const before = await pid()
    await expectStopped(await renew(SHORT))
    expect(await lease()).toMatchObject({ left_ms: 0, stopped_vms: 1 })
    expect(await agent.act(id, 'hibernate')).toMatchObject({ status: 503 })
    await renew(LONG)
    await writes()
    expect([await pid(), (await lease()).stopped_vms]).toEqual([before, 0])
    expect(await agent.sh(id, 'cat /root/file')).toBe('kept')
  })

  it(
    'writes nothing after the lease although its agent is stopped, and an old renewal changes nothing',
    { tags: ['long'] },
    async () => {
      await writes()
      const late = await leases.note(SHORT)
      const endsAtMs = await renew(SHORT)
      stopAgent('SIGSTOP')
      await expectStopped(Math.max(endsAtMs, late.endsAtMs))
      stopAgent('SIGCONT')
      await late.send()
      expect(await lease()).toMatchObject({ left_ms: 0, stopped_vms: 1 })
      expect(await lastWriteMs()).toBeLessThan(endsAtMs + MARGIN_MS)
      await renew(LONG)
      await writes()
    },
  )

  it('goes on without a gap if its agent is killed and starts again during the lease', async () => {
    await renew(LONG)
    const before = await pid()
    await agent.stop('SIGKILL')
    await writes()
    await agent.start()
    expect((await lease()).left_ms).toBeGreaterThan(0)
    await writes()
    expect(await pid()).toBe(before)
  })

  it('writes nothing after the lease although its agent is killed, and boots when there is a lease again', async () => {
    const endsAtMs = await renew(SHORT)
    await agent.stop('SIGKILL')
    await expectStopped(endsAtMs)
    await agent.start()
    expect((await agent.call<{ status: string }>('GET', `/v1/sandboxes/${id}`)).body.status).toBe('hibernated')
    expect((await agent.act(id, 'wake')).status).toBe(503)
    expect(await agent.vms()).toEqual([])
    await renew(LONG)
    await eventually('the boot', async () => (await agent.vms()).length > 0)
    expect(await agent.sh(id, 'cat /root/file')).toBe('kept')
  })

  it('runs without a lease again when control gives leases up', { tags: ['long'] }, async () => {
    await startWriter()
    await renew(SHORT)
    expect((await agent.call('DELETE', '/v1/agent/lease', { workspace: null })).status).toBe(204)
    const before = uptimeMs()
    await eventually('longer than the lease', async () => uptimeMs() > before + SHORT * 1000 + MARGIN_MS)
    await writes()
    expect((await lease()).stopped_vms).toBe(0)
  })

  it('ends stopped without having run again when another host has brought it back, and its disk stays', async () => {
    const body = { move_id: randomUUID(), outcome: 'taken' }
    const taken = async () => (await agent.act(id, 'settle', body)).status
    const quarantined = async () =>
      (await agent.call<AgentQuarantine>('GET', '/v1/quarantine', { workspace: null })).body.entries
    await renew(LONG)
    await startWriter()
    await writes()
    expect(await taken()).toBe(409)
    const endsAtMs = await renew(SHORT)
    await expectStopped(endsAtMs)
    expect((await agent.vms()).length).toBe(1)
    expect(await Promise.all([taken(), taken()])).toEqual([204, 204])
    expect(await taken()).toBe(204)
    expect([await agent.vms(), (await agent.list()).sandboxes, await agent.folders()]).toEqual([[], [], []])
    const [entry] = await quarantined()
    expect(entry).toMatchObject({
      kind: 'sandbox',
      id,
      state: 'quarantined',
      reason: 'another host has brought it back',
    })
    const name = entry?.entry ?? ''
    expect(await lastWriteMs(join(agent.dataDir, 'quarantine', name, 'vm/console.log'))).toBeLessThan(
      endsAtMs + MARGIN_MS,
    )
    expect(entry?.layers?.length).toBeGreaterThan(0)
    await agent.stop('SIGKILL')
    await agent.start()
    await renew(LONG)
    // Nobody can use it here by mistake: it has no record.
    const restored = await agent.call('POST', `/v1/quarantine/${name}/restore`, { workspace: null })
    expect([restored.status, (await agent.list()).sandboxes]).toEqual([409, []])
    const layers = (entry?.layers ?? []).map((layer) => `${layer}.qcow2`)
    expect(await agent.layers()).toEqual(expect.arrayContaining(layers))
    expect((await agent.call('DELETE', `/v1/quarantine/${name}`, { workspace: null })).status).toBe(204)
    expect(await quarantined()).toEqual([])
  })

  it('stays in quarantine if it boots cold, and its agent ends in the middle', { tags: ['long'] }, async () => {
    id = (await agent.created()).id
    await makeDurable()
    const endsAtMs = await renew(SHORT)
    await agent.stop('SIGKILL')
    await expectEnded(endsAtMs)
    await agent.start()
    expect((await agent.call<{ status: string }>('GET', `/v1/sandboxes/${id}`)).body.status).toBe('hibernated')
    await agent.stop('SIGKILL')
    const folder = join(agent.dataDir, 'sandboxes', id)
    await rename(join(folder, 'manifest.json'), join(folder, 'taken.json'))
    await agent.start()
    expect([(await agent.list()).sandboxes, await agent.folders()]).toEqual([[], []])
    const { entries } = (await agent.call<AgentQuarantine>('GET', '/v1/quarantine', { workspace: null })).body
    expect(entries).toMatchObject([{ id, reason: 'another host has brought it back' }])
  })
})

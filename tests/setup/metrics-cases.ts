import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxMetrics } from '@offshoot/contract/sandbox-metrics'
import { expect, it } from 'vitest'
import { call } from './http.ts'
import type { Offshoot } from './offshoot.ts'
import { until } from './until.ts'

const MIB = 1024 * 1024
const COUNTERS = ['cpu_seconds', 'network_in_bytes', 'network_out_bytes'] as const
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-/
type Now = SandboxMetrics['now']

/** Guest commands that raise one metric each. */
const BURN = 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'
const FILL_MEMORY = 'mkdir /m && mount -t tmpfs none /m && dd if=/dev/urandom of=/m/x bs=1M count=32 2>/dev/null'
const WRITE = 'dd if=/dev/urandom of=/root/x bs=1M count=8 2>/dev/null; sync'
/** Pings the gateway; the host refuses with an answer. So packets go both ways, even on a machine without a network. */
const TALK = `ping -c 3 -i 0.1 -s 1000 -W 1 $(ip route | sed -n 's/default via \\([^ ]*\\).*/\\1/p') >/dev/null 2>&1; true`

function expectGrown(before: Now, after: Now): void {
  for (const counter of COUNTERS)
    expect([counter, after[counter]]).toEqual([counter, Math.max(before[counter] ?? 0, after[counter] ?? 0)])
}

const known = (value: number | null) => value ?? 0

/** Usage metrics of sandboxes, on a server that other tests use too. */
export function metricsCases(offshoot: () => Offshoot): void {
  const ask = (id: string, query = '') => offshoot().request('GET', `/v1/sandboxes/${id}/metrics${query}`)
  const sh = (id: string, cmd: string) => offshoot().exec(id, cmd)
  const move = async (id: string, transition: string) =>
    expect((await offshoot().request('POST', `/v1/sandboxes/${id}/${transition}`)).status).toBe(200)
  const has = async (id: string) => (await offshoot().virtualMachines()).some(({ sandboxId }) => sandboxId === id)

  async function now(id: string): Promise<Now> {
    const answer = await ask(id)
    expect(answer).toMatchObject({ status: 200 })
    return (answer.body as SandboxMetrics).now
  }

  const rises = (what: string, id: string, condition: (now: Now) => boolean) =>
    until(what, async () => condition(await now(id)))

  it('rises with what is done in it, and with nothing that others do', { tags: ['long'] }, async () => {
    const [busy, idle] = [await offshoot().create(), await offshoot().create()]
    const [before, idleBefore] = [await now(busy.id), await now(idle.id)]
    expect(before.memory_guest_used_bytes).toBeGreaterThan(MIB)
    expect(before.memory_guest_used_bytes).toBeLessThan(128 * MIB)
    expect(before.memory_host_private_bytes).toBeGreaterThan(MIB)
    await sh(busy.id, `${BURN}; ${WRITE}`)
    await rises('CPU time', busy.id, ({ cpu_seconds }) => cpu_seconds > before.cpu_seconds + 0.1)
    await rises('disk', busy.id, ({ disk_bytes }) => disk_bytes >= before.disk_bytes + 8 * MIB)
    await sh(busy.id, TALK)
    await rises('traffic', busy.id, ({ network_in_bytes: received, network_out_bytes: sent }) => {
      const hasSent = known(sent) >= known(before.network_out_bytes) + 1000
      return hasSent && known(received) > known(before.network_in_bytes)
    })
    await sh(busy.id, FILL_MEMORY)
    const hostBefore = before.memory_host_private_bytes
    await rises('host memory', busy.id, (is) => is.memory_host_private_bytes >= hostBefore + 30 * MIB)
    const guestBefore = known(before.memory_guest_used_bytes)
    await rises('guest memory', busy.id, (is) => known(is.memory_guest_used_bytes) >= guestBefore + 30 * MIB)
    const [after, idleAfter] = [await now(busy.id), await now(idle.id)]
    expectGrown(before, after)
    expect(idleAfter.disk_bytes - idleBefore.disk_bytes).toBeLessThan(4 * MIB)
    expect(idleAfter.memory_host_private_bytes - idleBefore.memory_host_private_bytes).toBeLessThan(20 * MIB)
    expect(known(idleAfter.network_out_bytes) - known(idleBefore.network_out_bytes)).toBeLessThan(1000)
    const points = await until('two samples', async () => {
      const answer = (await ask(busy.id, '?step=10')).body as SandboxMetrics
      return answer.points.length >= 2 && answer.points
    })
    const times = points.map(({ ts }) => ts)
    expect(times).toEqual(times.toSorted())
    const cpu = points.map(({ cpu_seconds }) => cpu_seconds)
    expect(cpu).toEqual(cpu.toSorted((a, b) => a - b))
    const since = times.at(-1) ?? ''
    const late = (await ask(busy.id, `?step=10&since=${since}`)).body as SandboxMetrics
    expect(late).toMatchObject({ step_seconds: 10 })
    expect(late.points.map(({ ts }) => ts)).not.toContain(times[0])
    expect(late.points.map(({ ts }) => ts)).toContain(since)
    for (const { id } of [busy, idle]) await offshoot().delete(id)
  })

  it(
    'goes on over pause, hibernation, a kill -9 of the agent and the end of its VM; nothing wakes for it',
    { tags: ['long'] },
    async () => {
      const { id } = await offshoot().create()
      await sh(id, `${TALK}; (while :; do :; done) >/dev/null 2>&1 & echo $! >/tmp/burner`)
      const first = await now(id)
      await rises('CPU time', id, ({ cpu_seconds }) => cpu_seconds > first.cpu_seconds + 0.2)
      await move(id, 'pause')
      const stopped = await now(id)
      const paused = await until('a reading seconds later', async () => {
        const later = await now(id)
        return Date.parse(later.ts) > Date.parse(stopped.ts) + 3000 && later
      })
      // At the earlier rate, the CPU time would have grown more by now.
      expect(paused.cpu_seconds - stopped.cpu_seconds).toBeLessThan(0.3)
      expect(paused.memory_guest_used_ts).toBe(stopped.memory_guest_used_ts)
      await move(id, 'resume')
      await sh(id, 'kill $(cat /tmp/burner)')
      const talking = await now(id)
      await sh(id, TALK)
      await move(id, 'hibernate')
      const asleep = await now(id)
      expectGrown(paused, asleep)
      // The hibernation counts the traffic since the last sample.
      expect(known(asleep.network_out_bytes)).toBeGreaterThanOrEqual(known(talking.network_out_bytes) + 3000)
      expect(asleep).toMatchObject({ memory_host_private_bytes: 0, memory_guest_used_bytes: expect.any(Number) })
      expect(asleep.disk_bytes).toBeGreaterThan(0)
      await offshoot().killService('agent')
      const { ts: _ts, ...values } = asleep
      expect(await now(id)).toMatchObject(values)
      expect(await has(id)).toBe(false)
      expect((await offshoot().request('GET', `/v1/sandboxes/${id}`)).body.status).toBe('hibernated')
      await move(id, 'wake')
      await sh(id, `${BURN}; ${TALK}`)
      const awake = await now(id)
      expectGrown(asleep, awake)
      expect(known(awake.network_out_bytes)).toBeGreaterThan(known(asleep.network_out_bytes))
      await offshoot().killService('agent')
      const adopted = await now(id)
      expectGrown(awake, adopted)
      await sh(id, TALK)
      await rises('traffic', id, (is) => known(is.network_out_bytes) > known(adopted.network_out_bytes))
      const last = await now(id)
      const vm = (await offshoot().virtualMachines()).find(({ sandboxId }) => sandboxId === id)
      if (vm === undefined) throw new Error('no VM')
      process.kill(vm.pid, 'SIGKILL')
      await until('a failed sandbox', async () => {
        const { body } = await offshoot().request('GET', `/v1/sandboxes/${id}`)
        return body.status === 'failed'
      })
      const failed = await now(id)
      expectGrown(last, failed)
      expect(failed.memory_host_private_bytes).toBe(0)
      await offshoot().delete(id)
    },
  )

  it('is no activity, and is refused as every operation is', { tags: ['faults'] }, async () => {
    const { id } = await offshoot().create()
    await until('an idle sandbox that is asked all the time', async () => {
      await now(id)
      return (await offshoot().request('GET', `/v1/sandboxes/${id}/lifecycle`)).body.idle_seconds >= 2
    })
    const since = 'since must be an RFC 3339 timestamp within the last hour'
    const step = 'step must be an integer from 10 to 3600'
    const longAgo = new Date(Date.now() - 7_200_000).toISOString()
    for (const [query, error] of [
      ['?since=yesterday', since],
      ['?since=', since],
      [`?since=${longAgo}`, since],
      ['?since=2999-01-01T00:00:00Z', since],
      ['?step=9', step],
      ['?step=3601', step],
      ['?step=x', step],
      ['?step=10&step=20', step],
    ] as const)
      expect(await ask(id, query)).toMatchObject({ status: 400, body: { error } })
    for (const other of [randomUUID(), 'x', '%00', '..%2f..'])
      expect(await ask(other)).toMatchObject({ status: 404, body: { error: 'not found' } })
    const { base_url: url } = offshoot().credentials
    const path = `${url}/v1/sandboxes/${id}/metrics`
    expect((await call('GET', path)).status).toBe(401)
    const stranger = { authorization: `Bearer ${await secondTenant(url)}` }
    expect(await call('GET', path, { headers: stranger })).toMatchObject({ status: 404, body: { error: 'not found' } })
    await offshoot().delete(id)
    expect((await ask(id)).status).toBe(404)
  })

  it('is shown to operators with its ids, and to nobody without a credential', { tags: ['faults'] }, async () => {
    const { id } = await offshoot().create()
    await sh(id, TALK)
    const { base_url: url } = offshoot().credentials
    const read = async (file: string) => JSON.parse(await readFile(join(offshoot().dataDir, file), 'utf8'))
    const operator = { authorization: `Bearer ${offshoot().credentials.operator_key}` }
    const figure = new RegExp(`^offshoot_sandbox_(\\w+)\\{[^}]*sandbox_id="${id}"\\} \\d`, 'gm')
    const names = await until('figures of the sandbox', async () => {
      const { text } = await call('GET', `${url}/v1/admin/metrics`, { headers: operator })
      const found = [...text.matchAll(figure)].map(([, name]) => name)
      return found.length > 0 && found
    })
    const expected = ['cpu_seconds_total', 'memory_host_private_bytes', 'disk_bytes', 'network_in_bytes_total']
    expect(names).toEqual(
      expect.arrayContaining([...expected, 'network_out_bytes_total', 'egress_refused_packets_total']),
    )
    expect((await offshoot().request('GET', '/v1/admin/metrics')).status).toBe(401)
    const { host, port } = (await read('config/agent.json')).listen
    const agent = `http://${host}:${port}`
    for (const open of [`${url}/metrics`, `${agent}/metrics`]) {
      const { status, text } = await call('GET', open)
      expect(status).toBe(200)
      expect(text).toMatch(/^offshoot_\w+sandboxes|^offshoot_sandboxes/m)
      expect(text).not.toMatch(UUID)
    }
    expect((await call('GET', `${agent}/v1/agent/usage`)).status).toBe(401)
    expect((await call('GET', `${agent}/v1/sandboxes/${id}/metrics`)).status).toBe(401)
    await offshoot().delete(id)
  })
}

/** Signs up a user. @returns a token for the user's own workspace */
async function secondTenant(url: string): Promise<string> {
  const account = { name: 'Bob', email: `bob-${randomUUID()}@example.com`, password: randomUUID() }
  expect((await call('POST', `${url}/api/auth/sign-up/email`, { body: account })).status).toBe(200)
  const session = await call('POST', `${url}/api/auth/sign-in/email`, { body: account })
  const headers = { authorization: `Bearer ${session.body.token}` }
  return (await call('GET', `${url}/api/auth/token`, { headers })).body.token
}

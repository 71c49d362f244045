import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { FakeAgent } from '@offshoot/control/test/fake-agent'
import { TICKS_PER_SECOND } from '@offshoot/kit/process-identity'
import { fakeSandbox } from '@offshoot/control/test/fake-agent-state'
import { call } from '../tests/setup/http.ts'
import { until } from '../tests/setup/until.ts'
import { residentMib, single } from './event-benches.ts'
import { type Figure, isFullRun, rounds, Samples } from './measure.ts'
import { type PretendedFleet, withPretendedFleet } from './pretended-fleet.ts'

type Figures = Record<string, Figure>

/** OFFSHOOT_BENCH_HOSTS: number of hosts. */
const HOSTS = Number(process.env['OFFSHOOT_BENCH_HOSTS'] ?? 1_000)
const SANDBOXES_PER_HOST = 100
/** Control reconciles each host once a minute. */
const IDLE_MS = isFullRun ? 20_000 : 60_000
const SETTLE_MS = 10_000
/** Records of each host in the measurement of projection. */
const RECORDS_PER_HOST = 50
const PROJECTED_MS = 120_000
/** Records of one transaction of the floor: the maximum batch of an agent. */
const BATCH = 256
const PAGE = 50

/** Control with many hosts and many sandboxes: what it costs, and how fast it places, lists and projects. */
export async function fleetOf1000(): Promise<Figures> {
  return withPretendedFleet(HOSTS, async (fleet) => {
    await addSandboxes(fleet)
    await delay(SETTLE_MS)
    const idle = await idleCpu(fleet)
    const listed = await listPage(fleet)
    const placed = await place(fleet)
    const projected = await projectRecords(fleet)
    const memory = single('MiB', await residentMib(fleet.control.pid ?? 0), HOSTS, 1)
    return { ...placed, ...listed, ...projected, control_fleet_mib: memory, ...idle }
  })
}

/** Each host has the VMs that the rows of the workspace name. They have been metered for an hour. */
async function addSandboxes({ agents, pool, workspace }: PretendedFleet): Promise<void> {
  for (const { state } of agents) {
    const ids = Array.from({ length: SANDBOXES_PER_HOST }, () => randomUUID())
    for (const id of ids) state.sandboxes.set(id, fakeSandbox(id, workspace.id, 'base', {}))
    await pool.query(
      `insert into sandboxes (id, workspace_id, agent_id, creator, status, template, cpu, memory_mb, persistent,
         ttl_seconds, idle_timeout_seconds, expires_at)
       select id, $1, $2, 0, 'running', 'base', 1, 512, false, 86400, 600, now() + interval '1 day'
       from unnest($3::uuid[]) id`,
      [workspace.id, state.agentId, ids],
    )
  }
  await pool.query(
    `insert into meters (id, kind, workspace_id, template, cpu, memory_mib, state, since)
     select id, 'sandbox', workspace_id, template, cpu, memory_mb, 'running', now() - interval '1 hour' from sandboxes`,
  )
  await pool.query(
    `insert into meter_transitions (meter_id, at, state, cpu, micro_usd_per_month)
     select id, since, state, cpu, micro_usd_per_month from meters`,
  )
  await pool.query('analyze')
}

async function idleCpu({ control: { pid = 0 } }: PretendedFleet): Promise<Figures> {
  const ticks = async () => {
    const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  }
  const [before, beganAt] = [await ticks(), performance.now()]
  await delay(IDLE_MS)
  const seconds = (performance.now() - beganAt) / 1000
  const percent = (((await ticks()) - before) / TICKS_PER_SECOND / seconds) * 100
  return { control_fleet_idle_cpu: single('% of a CPU', percent, HOSTS, 1) }
}

/** A page of `GET /v1/sandboxes`. Floor: the same rows by a bare query. Alternately. */
async function listPage({ url, pool, workspace }: PretendedFleet): Promise<Figures> {
  const [page, bare] = [new Samples(), new Samples()]
  const headers = { authorization: `Bearer ${workspace.key}` }
  const text = `select * from sandboxes where workspace_id = $1 order by created_at desc, id desc limit ${PAGE}`
  for (const _ of rounds(300)) {
    await page.time(async () => {
      const { status, body } = await call('GET', `${url}/v1/sandboxes?limit=${PAGE}`, { headers })
      if (status !== 200 || body.length !== PAGE) throw new Error(`the list answered ${status}`)
    })
    await bare.time(async () => pool.query({ name: 'bare', text, values: [workspace.id] }))
  }
  return { list_100000_ms: page.figure('ms', bare.p50) }
}

/**
 * From a create's arrival in control until control asks the chosen host. Floor: the same two commits (the entry of the
 * audit log, the row of the sandbox) by a bare connection, alternately. Its p99 is what this machine allows.
 */
async function place({ url, pool, workspace }: PretendedFleet): Promise<Figures> {
  const [placed, bare] = [new Samples(), new Samples()]
  const tables = ['bare_entries', 'bare_sandboxes']
  for (const table of tables) await pool.query(`create table ${table} (id uuid primary key, about jsonb not null)`)
  const headers = { authorization: `Bearer ${workspace.key}` }
  for (const _ of rounds(1_000)) {
    const { status, headers: answered } = await call('POST', `${url}/v1/sandboxes`, {
      headers,
      body: { template: 'base' },
    })
    const [, ms] = /^place;dur=([\d.]+)$/.exec(String(answered['server-timing'])) ?? []
    if (status === 201 && ms !== undefined) placed.add(Number(ms))
    else await placed.time(() => Promise.reject(new Error(`a create answered ${status}`)))
    await bare.time(async () => {
      for (const table of tables) {
        const text = `insert into ${table} (id, about) values ($1, $2)`
        await pool.query({ name: table, text, values: [randomUUID(), { workspace: workspace.id }] })
      }
    })
  }
  return { place_1000_hosts_ms: placed.figure('ms', bare.p50), bare_commits_1000_hosts_ms: bare.figure('ms') }
}

/**
 * Records that every host sends one by one, until control's cursor has passed all of them. Floor: as many records as
 * rows of two tables, written by one connection in batches.
 */
async function projectRecords({ agents, pool, workspace }: PretendedFleet): Promise<Figures> {
  const total = agents.length * RECORDS_PER_HOST
  const beganAt = performance.now()
  for (let round = 0; round < RECORDS_PER_HOST; round += 1) {
    for (const agent of agents) logChange(agent, round)
    await delay(1)
  }
  const ends = agents.reduce((sum, { state }) => sum + state.records.length, 0)
  const applied = async () => Number((await pool.query('select sum(cursor) as sum from agents')).rows[0].sum) >= ends
  await until('every record to be projected', applied, PROJECTED_MS)
  const rate = (total * 1000) / (performance.now() - beganAt)
  const floor = await bareBatches(pool, workspace.id, total)
  return { records_projected_per_s: { ...single('1/s', rate, total, 1), floor, ratio: rate / floor } }
}

function logChange(agent: FakeAgent, round: number): void {
  const ids = [...agent.state.sandboxes.keys()]
  const id = ids[(round >> 1) % ids.length] ?? ''
  agent.log(round % 2 === 0 ? 'sandbox.paused' : 'sandbox.resumed', id)
}

async function bareBatches(pool: PretendedFleet['pool'], workspaceId: string, total: number): Promise<number> {
  await pool.query('create table bare_rows (id uuid primary key, status text, seq bigint)')
  await pool.query('create table bare_events (id uuid, workspace_id uuid, seq bigint, ts timestamptz, type text)')
  await pool.query('insert into bare_rows select id, status, 0 from sandboxes')
  const { rows } = await pool.query<{ id: string }>('select id from bare_rows limit 1000')
  const beganAt = performance.now()
  for (let seq = 0; seq < total; seq += BATCH) {
    const ids = Array.from({ length: Math.min(BATCH, total - seq) }, (_, at) => rows[(seq + at) % rows.length]?.id)
    await pool.query(
      `with record as (select id, $2::bigint + n as seq from unnest($1::uuid[]) with ordinality as r (id, n)),
         event as (insert into bare_events select id, $3, seq, now(), 'sandbox.paused' from record)
       update bare_rows b set status = 'paused', seq = record.seq from record where b.id = record.id`,
      [ids, seq, workspaceId],
    )
  }
  return (total * 1000) / (performance.now() - beganAt)
}

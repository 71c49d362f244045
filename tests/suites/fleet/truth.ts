/** Whether what the API says is what the hosts have. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findVmProcesses } from '@offshoot/agent/machine/host/find-vm-processes'
import pg from 'pg'
import { until } from '../../setup/until.ts'
import type { Fleet } from './fleet.ts'
import { allSandboxes } from './sandbox-client.ts'

/** Milliseconds within which every sandbox is in a true state. */
const TRUE_MS = 90_000
const SAMPLE_MS = 1_000

interface Running {
  readonly host: string
  readonly id: string
}

/** Waits until rows, manifests and QEMU processes of all hosts agree. @throws with the differences */
export async function untilTrue(fleet: Fleet): Promise<void> {
  let found: string[] = []
  const agree = async () => (found = await differences(fleet)).length === 0
  await until('a true state of every sandbox', agree, TRUE_MS, 250).catch(async (error: Error) => {
    throw new Error([error.message, ...found, ...(await waitingForOperators(fleet))].join('\n'))
  })
}

async function differences(fleet: Fleet): Promise<string[]> {
  const rows = await allSandboxes(fleet).catch((error: Error) => error)
  const internal = await internalSandboxes(fleet).catch((error: Error) => error)
  if (rows instanceof Error) return [rows.message]
  if (internal instanceof Error) return [internal.message]
  const machines = (await runningOn(fleet)).filter(({ id }) => !internal.includes(id))
  const manifests = (await manifestsOf(fleet)).filter(({ id }) => !internal.includes(id))
  const live = rows.filter(({ status }) => status === 'running' || status === 'paused')
  const rowsWithout = rows.flatMap(({ id, status }) => {
    const there = manifests.filter((each) => each.id === id)
    if (there.length === 1 && there[0]?.status === status) return []
    return [
      `${id} is ${status} by its row, and on hosts: ${there.map((each) => `${each.status} on ${each.host}`).join()}`,
    ]
  })
  const extra = manifests.filter(({ id }) => !rows.some((row) => row.id === id))
  return [
    ...rowsWithout,
    ...extra.map(({ id, host, status }) => `${id} on ${host} (${status}) has no row`),
    ...live
      .filter(({ id }) => machines.filter((each) => each.id === id).length !== 1)
      .map(({ id }) => `${id} lives without one QEMU`),
    ...machines
      .filter(({ id }) => !live.some((row) => row.id === id))
      .map(({ id, host }) => `QEMU of ${id} on ${host}`),
  ]
}

/** Sandboxes in which control verifies backups. No workspace sees them. */
async function internalSandboxes(fleet: Fleet): Promise<string[]> {
  const client = new pg.Client(fleet.databaseAddress)
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query<{ id: string }>(`select id from sandboxes where managed_by = 'proof'`)
  await client.end()
  return rows.map(({ id }) => id)
}

/** What reconciliation removes only when an operator confirms it. */
async function waitingForOperators(fleet: Fleet): Promise<string[]> {
  const asked = fleet.hosts.map(async ({ id, name }) => {
    const { text } = await fleet.askAsOperator('GET', `/v1/admin/hosts/${id}/reconcile`)
    return `${name} waits for an operator with: ${text}`
  })
  return Promise.all(asked)
}

/** Every QEMU of a sandbox, on all hosts. */
async function runningOn(fleet: Fleet): Promise<Running[]> {
  const found = await findVmProcesses(fleet.folder)
  return found.flatMap(({ folder }) => {
    const host = fleet.hosts.find(({ dataDir }) => folder.startsWith(`${dataDir}/agent/sandboxes/`))
    if (host === undefined) return []
    const id = folder.slice(`${host.dataDir}/agent/sandboxes/`.length).split('/')[0] ?? ''
    return [{ host: host.name, id }]
  })
}

async function manifestsOf(fleet: Fleet): Promise<(Running & { readonly status: string })[]> {
  const all = fleet.hosts.map(async ({ name, dataDir }) => {
    const folder = join(dataDir, 'agent/sandboxes')
    const ids = await readdir(folder).catch(() => [])
    return Promise.all(
      ids.map(async (id) => {
        const text = await readFile(join(folder, id, 'manifest.json'), 'utf8').catch(() => '{"status":"not written"}')
        return { host: name, id, status: (JSON.parse(text) as { status: string }).status }
      }),
    )
  })
  return (await Promise.all(all)).flat()
}

/** Looks every second whether a sandbox runs on two hosts, until `stopped` aborts. */
export async function watchForTwins(fleet: Fleet, onTwin: (text: string) => void, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const machines = await runningOn(fleet)
    for (const { id, host } of machines)
      if (machines.some((other) => other.id === id && other.host < host)) onTwin(`sandbox ${id} runs on two hosts`)
    await delay(SAMPLE_MS, undefined, { signal: stopped }).catch(() => undefined)
  }
}

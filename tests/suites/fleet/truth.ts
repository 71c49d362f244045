/** Whether what the API says is what the hosts have. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findVmProcesses } from '@offshoot/agent/machine/host/find-vm-processes'
import type { ProcessIdentity } from '@offshoot/kit/process-identity'
import { until } from '../../setup/until.ts'
import type { Fleet } from './fleet.ts'
import { allSandboxes } from './sandbox-client.ts'

/** Milliseconds within which every sandbox is in a true state. */
const TRUE_MS = 90_000

interface Place {
  readonly host: string
  readonly id: string
}

/** A sandbox's QEMU. */
export interface Running extends Place {
  readonly process: ProcessIdentity
}

interface Manifest extends Place {
  readonly status: string
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
  const all = await rowsOf(fleet).catch((error: Error) => error)
  if (all instanceof Error) return [all.message]
  const isSettled = ({ id }: { readonly id: string }) => !all.some((row) => row.id === id && row.is_being_made)
  const rows = all.filter(isSettled)
  const machines = (await runningOn(fleet)).filter(isSettled)
  const manifests = (await manifestsOf(fleet)).filter(isSettled)
  const live = rows.filter(({ status }) => status === 'running' || status === 'paused')
  const extra = manifests.filter(({ id }) => !rows.some((row) => row.id === id))
  return [
    ...rows.flatMap((row) =>
      wrongIn(
        row,
        manifests.filter(({ id }) => id === row.id),
      ),
    ),
    ...extra.map(({ id, host, status }) => `${id} on ${host} (${status}) has no row`),
    ...live
      .filter(({ id }) => machines.filter((each) => each.id === id).length !== 1)
      .map(({ id }) => `${id} lives without one QEMU`),
    ...machines
      .filter(({ id }) => !live.some((row) => row.id === id))
      .map(({ id, host }) => `QEMU of ${id} on ${host}`),
  ]
}

function wrongIn({ id, status, is_orphan: isOrphan, is_told: isTold }: Row, there: readonly Manifest[]): string[] {
  if (isOrphan && status === 'failed' && there.length === 0)
    return isTold ? [] : [`${id} has failed with its host, and no event says so`]
  if (there.length === 1 && there[0]?.status === status) return []
  const found = there.map((each) => `${each.status} on ${each.host}`).join()
  return [`${id} is ${status} by its row, and on hosts: ${found}`]
}

interface Row {
  readonly id: string
  readonly status: string
  /** Its host was removed. */
  readonly is_orphan: boolean
  /** An event says that it was orphaned. */
  readonly is_told: boolean
  /** Control makes it, without a request of a client: it brings a database back, or verifies a backup. */
  readonly is_being_made: boolean
}

/** Of all sandboxes: those that the API lists, and those in which control verifies backups, which it shows nobody. */
async function rowsOf(fleet: Fleet): Promise<Row[]> {
  const listed = new Map((await allSandboxes(fleet)).map(({ id, status }) => [id, status]))
  const rows = await fleet.rows.read<Row & { readonly is_hidden: boolean }>(
    `select s.id, s.status, a.retired_at is not null as is_orphan,
       exists (select from events e where e.object_id = s.id and e.type = 'recover.orphaned') as is_told,
       exists (select from sandbox_moves m where m.sandbox_id = s.id and m.backup_id is not null
         and m.finished_at is null) or (p.id is not null and s.status = 'creating') as is_being_made,
       p.id is not null as is_hidden
     from sandboxes s join agents a on a.id = s.agent_id left join backup_proofs p on p.id = s.id`,
  )
  const hidden = rows.filter((row) => row.is_hidden).map((row) => ({ ...row, is_told: true }))
  const shown = rows.flatMap((row) => {
    const status = listed.get(row.id)
    return status === undefined ? [] : [{ ...row, status }]
  })
  return [...hidden, ...shown]
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
export async function runningOn(fleet: Fleet): Promise<Running[]> {
  const found = await findVmProcesses(fleet.folder)
  return found.flatMap(({ folder, process }) => {
    const host = fleet.hosts.find(({ dataDir }) => folder.startsWith(`${dataDir}/agent/sandboxes/`))
    if (host === undefined) return []
    const id = folder.slice(`${host.dataDir}/agent/sandboxes/`.length).split('/')[0] ?? ''
    return [{ host: host.name, id, process }]
  })
}

async function manifestsOf(fleet: Fleet): Promise<Manifest[]> {
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

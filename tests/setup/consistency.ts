import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Offshoot } from './offshoot.ts'
import { until } from './until.ts'

export interface Row {
  readonly id: string
  readonly status: string
  readonly from_snapshot: string | null
}

/** The state after an event; other events change no state. */
const STATE_AFTER: Record<string, string> = {
  'sandbox.running': 'running',
  'sandbox.resumed': 'running',
  'sandbox.woken': 'running',
  'sandbox.paused': 'paused',
  'sandbox.hibernated': 'hibernated',
  'vm.died': 'failed',
  'recover.orphaned': 'failed',
}

/** Milliseconds between checks. Each sends a dozen requests, and the services need the CPU to settle. */
const LOOK_MS = 100

export async function rowsOf(offshoot: Offshoot): Promise<Row[]> {
  const answer = await offshoot.request('GET', '/v1/sandboxes?limit=1000')
  if (answer.status !== 200) throw new Error(`list answered ${answer.status}: ${answer.text}`)
  return answer.body
}

/**
 * Waits until rows, folders, manifests, QEMU processes (also of the warm pool), snapshots, layers and events agree, and
 * no operation is in progress.
 */
export async function untilConsistent(offshoot: Offshoot, withinMs = 90_000): Promise<void> {
  await offshoot.healthy()
  let found: string[] = []
  const agree = async () => (found = await inconsistencies(offshoot)).length === 0
  await until('everything agreeing', agree, withinMs, LOOK_MS).catch((error: Error) => {
    throw new Error(`${error.message}\n${found.join('\n')}`)
  })
}

/** Current differences, which may only be temporary. */
async function inconsistencies(offshoot: Offshoot): Promise<string[]> {
  const agent = join(offshoot.dataDir, 'agent')
  const rows = await rowsOf(offshoot)
  const machines = await offshoot.virtualMachines()
  const spares = (await offshoot.spareMachines()).map(({ name }) => name)
  const states = rows.map(({ id, status }) => `${id} ${status}`)
  const live = rows.filter(({ status }) => status === 'running' || status === 'paused')
  return [
    ...differences('row', states, 'manifest', await manifests(offshoot)),
    ...differences(
      'live row',
      ids(live),
      'QEMU',
      machines.map(({ sandboxId }) => sandboxId),
    ),
    ...differences('QEMU that waits', spares, 'folder', await readdir(join(agent, 'spares'))),
    ...differences('row', states, 'last event', await Promise.all(rows.map(({ id }) => stateByEvents(offshoot, id)))),
    ...(await snapshotDifferences(offshoot, rows)),
    ...differences('named layer', await namedLayers(agent, machines), 'layer', await readdir(join(agent, 'layers'))),
  ]
}

function differences(what: string, some: Iterable<string>, otherwise: string, others: readonly string[]): string[] {
  const left = [...some]
  return [
    ...left.filter((each) => !others.includes(each)).map((each) => `${what} without a ${otherwise}: ${each}`),
    ...others.filter((each) => !left.includes(each)).map((each) => `${otherwise} without a ${what}: ${each}`),
    ...(others.length > new Set(others).size ? [`a ${otherwise} twice: ${others.join()}`] : []),
  ]
}

async function manifests(offshoot: Offshoot): Promise<string[]> {
  const folders = (await offshoot.folders()).map(async (id) => {
    const path = join(offshoot.dataDir, 'agent/sandboxes', id, 'manifest.json')
    const text = await readFile(path, 'utf8').catch(() => '{"status":"not written"}')
    return `${id} ${(JSON.parse(text) as { status: string }).status}`
  })
  return Promise.all(folders)
}

async function stateByEvents(offshoot: Offshoot, id: string): Promise<string> {
  const { body } = await offshoot.request('GET', `/v1/sandboxes/${id}/events?since=0`)
  const types = Array.isArray(body) ? body.map(({ type }: { type: string }) => type) : []
  return `${id} ${STATE_AFTER[types.findLast((type) => type in STATE_AFTER) ?? '']}`
}

/** Snapshots of users have rows. Snapshots of forks exist as long as a sandbox was made from them. */
async function snapshotDifferences(offshoot: Offshoot, rows: readonly Row[]): Promise<string[]> {
  const listed = ids((await offshoot.request('GET', '/v1/snapshots?limit=1000')).body)
  const folders = await readdir(join(offshoot.dataDir, 'agent/snapshots'))
  const inUse = new Set([...listed, ...rows.map(({ from_snapshot: snapshot }) => snapshot)])
  return [
    ...listed.filter((id) => !folders.includes(id)).map((id) => `snapshot row without a folder: ${id}`),
    ...folders.filter((id) => !inUse.has(id)).map((id) => `snapshot folder that nobody needs: ${id}`),
  ]
}

/** File names of the layers that a checkpoint or a QEMU process refers to. */
async function namedLayers(
  agent: string,
  machines: Awaited<ReturnType<Offshoot['virtualMachines']>>,
): Promise<Set<string>> {
  const snapshots = (await readdir(join(agent, 'snapshots'))).map((id) => join(agent, 'snapshots', id))
  const hibernations = (await readdir(join(agent, 'sandboxes'))).map((id) =>
    join(agent, 'sandboxes', id, 'hibernation'),
  )
  const names = await Promise.all([
    ...[...snapshots, ...hibernations].map(layersOfCheckpoint),
    ...machines.map(async ({ pid }) => openLayers(pid, join(agent, 'layers'))),
    ...machines.map(async ({ sandboxId }) => layersOfDisk(join(agent, 'sandboxes', sandboxId))),
  ])
  return new Set(names.flat())
}

async function layersOfCheckpoint(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, 'checkpoint.json'), 'utf8').catch(() => null)
  if (text === null) return []
  const { checkpoint } = JSON.parse(text) as { checkpoint: { layers: { id: string }[] } }
  return checkpoint.layers.map(({ id }) => `${id}.qcow2`)
}

/** Layers that a jailed QEMU has created itself, which /proc shows under another path. */
async function layersOfDisk(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, 'chain.json'), 'utf8').catch(() => '{"layers":[]}')
  return (JSON.parse(text) as { layers: string[] }).layers.map((id) => `${id}.qcow2`)
}

async function openLayers(pid: number, folder: string): Promise<string[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const links = await Promise.all(descriptors.map(async (fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  return links.filter((link) => link.startsWith(`${folder}/`)).map((link) => basename(link))
}

function ids(list: readonly { readonly id: string }[]): string[] {
  return list.map(({ id }) => id)
}

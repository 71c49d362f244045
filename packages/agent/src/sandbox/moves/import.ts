import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { BAKE_MISSING } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { MoveHeader } from '@offshoot/contract/move-stream'
import { Deadline } from '@offshoot/kit/deadline'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { NO_SLOT } from '../../machine/slots/slots.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { IMPORTED } from '../../store/bakes/bake-content.ts'
import { CheckpointDamaged } from '../../store/checkpoints/checkpoint-errors.ts'
import { isDiskFull } from '../../store/data-dir/full-disk.ts'
import { removeTree } from '../../store/data-dir/folders.ts'
import { formatRecord, parseRecords } from '../../store/events/record-file.ts'
import { isPresent } from '../../store/ledger/is-present.ts'
import { MoveDamaged } from '../../store/moves/move-damaged.ts'
import { readMove } from '../../store/moves/move-stream.ts'
import { type Manifest, MOVING_FORMAT, writeArrivedManifest } from '../../store/sandboxes/manifest.ts'
import { parseUsage, writeUsage } from '../../store/sandboxes/usage-file.ts'
import { sweepBakesSoon } from '../cleanup/sweep-bakes.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { readoptSandbox } from '../recovery/recover.ts'
import type { Arrival } from '../model/arrivals.ts'
import { ArrivingFiles, BAKE, verifyArrived } from './arriving-files.ts'
import { checkHeader } from './check-header.ts'
import { keepBake } from './keep-bake.ts'

/** Milliseconds to verify and sync everything after the last byte has come. */
const KEEP_MS = 3_600_000

export interface Import {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  readonly moveId: string
}

/**
 * Receives a sandbox from another host. When this resolves, everything is on the disk, and the sandbox is `arriving`: nothing
 * but the end of the move or a delete changes it. If it fails, or the agent is killed, nothing of it is left.
 * @throws ApiError 400 damaged, 409, 507
 */
export async function importSandbox(host: Host, asked: Import, body: Readable): Promise<Sandbox> {
  const { id, workspaceId, moveId } = asked
  const known = host.sandboxes.get(id)
  const isRepeated = known?.manifest.move?.direction === 'arriving' && known.manifest.move.id === moveId
  if (known !== undefined && isRepeated && known.workspaceId === workspaceId) return known
  if (known !== undefined) throw new ApiError('conflict', { detail: 'the sandbox is on this host' })
  if (host.platform.qemus.current.jail === null) {
    throw new ApiError('conflict', { detail: 'this host has no jail for what other hosts have made' })
  }
  return host.arrivals.receive(id, asked, async (arrival) => {
    const stop = () => body.destroy(arrival.cancelling.signal.reason as Error)
    arrival.cancelling.signal.addEventListener('abort', stop, { once: true })
    const folder = join(host.store.dir.arrivals, id)
    try {
      await receive(host, asked, { arrival, folder, body })
      await readoptSandbox(host, id)
      const sandbox = host.sandboxes.get(id)
      if (sandbox === undefined) throw new Error(`the manifest of ${id} cannot be read after its import`)
      return sandbox
    } catch (error) {
      await removeRest(host, arrival, folder)
      throw refusalOf(host, id, error)
    }
  })
}

interface Receiving {
  readonly arrival: Arrival
  readonly folder: string
  readonly body: Readable
}

async function receive(host: Host, asked: Import, { arrival, folder, body }: Receiving): Promise<void> {
  const { store } = host
  await removeTree(folder)
  await mkdir(folder, { mode: 0o711 })
  const files = new ArrivingFiles(store, arrival, folder)
  let header: MoveHeader | null = null
  await readMove(body, {
    header: async (read) => {
      checkHeader(read, asked)
      header = read
      arrival.bake = await bakeFor(host, read)
      await files.prepare(read)
    },
    file: (file, read) => files.receive(file, read),
  })
  // The compiler does not see the assignment.
  const received = header as MoveHeader | null
  if (received === null || arrival.bake === null) throw new MoveDamaged('the stream has no header')
  const deadline = Deadline.after(KEEP_MS, `import of ${asked.id}`, arrival.cancelling.signal)
  await keepFiles(host, { ...asked, header: received, bake: arrival.bake, files, folder }, deadline)
  await writeArrivedManifest(folder, manifestOf(received, asked.moveId, arrival))
  arrival.cancelling.signal.throwIfAborted()
  // A sweep may have begun before it could know of this import.
  if (!(await isPresent(bakeFiles(join(store.dir.bakes, arrival.bake)).manifest))) throw bakeMissing()
  await rename(folder, store.dir.sandbox(asked.id))
  await syncFolder(store.dir.sandboxes)
}

/** `NAME/FINGERPRINT` of the sandbox's bake on this host. @throws ApiError 409 */
async function bakeFor({ store }: Host, { bake: { hash, is_included } }: MoveHeader): Promise<string> {
  const found = await store.bakeContents.find(hash)
  if (found === null && !is_included) throw bakeMissing()
  return found ?? `${IMPORTED}/${hash}`
}

function bakeMissing(): ApiError {
  return new ApiError('conflict', { detail: BAKE_MISSING })
}

interface Received extends Import {
  readonly header: MoveHeader
  readonly bake: string
  readonly files: ArrivingFiles
  readonly folder: string
}

/** Verifies and syncs all files, and signs the checkpoint. */
async function keepFiles({ store }: Host, received: Received, deadline: Deadline): Promise<void> {
  const { id, header, bake, files, folder } = received
  const checkpoint = files.checkpoint(header, bake)
  if (checkpoint !== null) {
    await store.checkpoints.accept(join(folder, 'hibernation'), store.dir.hibernation(id), checkpoint, deadline)
  } else {
    const layers = header.files.filter(({ name }) => name.startsWith('layers/'))
    for (const layer of layers) await verifyArrived(store, layer, files.pathOf(layer.name))
  }
  await store.layers.sync()
  if (header.bake.is_included) {
    const ofBake = join(folder, BAKE)
    if (bake === `${IMPORTED}/${header.bake.hash}`) await keepBake(store, ofBake, header, deadline)
    await removeTree(ofBake)
  }
  await keepSmall(received)
}

async function keepSmall({ id, workspaceId, files: { small }, folder }: Received): Promise<void> {
  for (const [name, content] of small) {
    const path = join(folder, name)
    if (name.startsWith('events')) await writeFileDurably(path, ownRecords(content, id, workspaceId))
    else if (name.startsWith('log')) await writeFileDurably(path, content)
    else if (name === 'usage.json') await writeUsage(folder, { ...usageOf(content), vm: null }, true)
  }
}

/** The events of the sandbox. Their `seq` counts in the log of another agent. */
function ownRecords(content: Buffer, id: SandboxId, workspaceId: WorkspaceId): string {
  const { records } = parseRecords(content)
  const own = records.filter(({ event, workspace_id }) => event.sandbox_id === id && workspace_id === workspaceId)
  return own.map((record) => formatRecord({ ...record, seq: 0 })).join('')
}

function usageOf(content: Buffer): ReturnType<typeof parseUsage> {
  try {
    return parseUsage(content.toString('utf8'))
  } catch (error) {
    throw new MoveDamaged('usage.json is invalid', { cause: error })
  }
}

function manifestOf({ sandbox, memory }: MoveHeader, moveId: string, { layers, bake }: Arrival): Manifest {
  return {
    ...sandbox,
    format: MOVING_FORMAT,
    move: { id: moveId, direction: 'arriving' },
    bake: bake ?? '',
    slot: NO_SLOT,
    status: 'hibernated',
    layers: [...layers],
    devices: [],
    durable: false,
    cold: memory === null,
    qemu: null,
  }
}

async function removeRest(host: Host, { layers }: Arrival, folder: string): Promise<void> {
  try {
    await removeTree(folder)
    for (const id of layers) await rm(host.store.layers.path(id), { force: true })
  } catch (error) {
    // The next start and the sweep of layers remove the rest.
    host.log.warn({ err: error }, 'remains of an import not removed')
  }
  sweepBakesSoon(host)
}

function refusalOf(host: Host, id: SandboxId, error: unknown): unknown {
  if (error instanceof MoveDamaged || error instanceof CheckpointDamaged) {
    host.log.warn({ err: error, sandbox_id: id }, 'the stream of a sandbox is damaged')
    return new ApiError('invalidField', { error: `the stream is damaged: ${error.message}` }, { cause: error })
  }
  if (isDiskFull(error)) return new ApiError('sandboxStorage', {}, { cause: error })
  return error
}

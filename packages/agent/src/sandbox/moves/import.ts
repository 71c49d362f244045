import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { moveHeader, type MoveHeader } from '@offshoot/contract/move-stream'
import { Deadline } from '@offshoot/kit/deadline'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { NO_SLOT } from '../../machine/slots/slots.ts'
import { formatRecord, parseRecords } from '../../store/events/record-file.ts'
import { MoveDamaged } from '../../store/moves/move-damaged.ts'
import { type Manifest, MOVING_FORMAT, writeArrivedManifest } from '../../store/sandboxes/manifest.ts'
import { parseUsage, writeUsage } from '../../store/sandboxes/usage-file.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { readoptSandbox } from '../recovery/recover.ts'
import type { Arrival } from '../model/arrivals.ts'
import { ArrivingFiles, HIBERNATION, verifyArrived } from './arriving-files.ts'
import { checkHeader } from './check-header.ts'
import {
  type Arriving,
  KEEP_MS,
  keepReceivedBake,
  type Received,
  receiveFiles,
  receiveInFolder,
  requireBake,
} from './receive.ts'

export interface Import extends Arriving {
  readonly id: SandboxId
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
  return receiveInFolder(host, asked, { body, mode: 0o711 }, async (arrival, folder) => {
    const { store } = host
    const check = (header: MoveHeader) => checkHeader(header, asked)
    const files = new ArrivingFiles(store, arrival, folder)
    const received = await receiveFiles(host, arrival, files, { body, schema: moveHeader, check })
    const deadline = Deadline.after(KEEP_MS, `import of ${id}`, arrival.cancelling.signal)
    await keepFiles(host, asked, received, folder, deadline)
    await writeArrivedManifest(folder, manifestOf(received.header, moveId, arrival))
    await requireBake(host, arrival)
    await rename(folder, store.dir.sandbox(id))
    await syncFolder(store.dir.sandboxes)
    await readoptSandbox(host, id)
    const sandbox = host.sandboxes.get(id)
    if (sandbox === undefined) throw new Error(`the manifest of ${id} cannot be read after its import`)
    return sandbox
  })
}

/** Verifies and syncs all files, and signs the checkpoint. */
async function keepFiles(
  host: Host,
  { id, workspaceId }: Import,
  received: Received<MoveHeader>,
  folder: string,
  deadline: Deadline,
): Promise<void> {
  const { store } = host
  const { header, bake, files } = received
  const checkpoint = files.checkpoint(header.sandbox, header, bake)
  if (checkpoint !== null) {
    await store.checkpoints.accept(join(folder, HIBERNATION), store.dir.hibernation(id), checkpoint, deadline)
  } else {
    const layers = header.files.filter(({ name }) => name.startsWith('layers/'))
    for (const layer of layers) await verifyArrived(store, layer, files.pathOf(layer.name))
  }
  await store.layers.sync()
  await keepReceivedBake(host, received, folder, deadline)
  await keepSmall(files, folder, { id, workspaceId })
}

async function keepSmall(
  { small }: ArrivingFiles,
  folder: string,
  { id, workspaceId }: Pick<Import, 'id' | 'workspaceId'>,
): Promise<void> {
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
    durable: sandbox.durable ?? false,
    cold: memory === null,
    qemu: null,
  }
}

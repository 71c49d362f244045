import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { BuildId, SnapshotId, WorkspaceId } from '@offshoot/contract/ids'
import {
  type SnapshotHeader,
  snapshotHeader,
  type TemplateHeader,
  templateHeader,
} from '@offshoot/contract/move-stream'
import { z } from 'zod'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import { ROOTFS } from '../../store/bakes/bake-files.ts'
import type { BakeImages } from '../../store/bakes/images.ts'
import { BuildFailure } from '../../store/builds/build-failure.ts'
import { BuildLog } from '../../store/builds/build-log.ts'
import { removeTree } from '../../store/data-dir/folders.ts'
import { isPresent } from '../../store/ledger/is-present.ts'
import type { TemplateDisk, TemplateRecord } from '../../store/templates/template-record.ts'
import { bakeImage } from '../builds/run-build.ts'
import type { Arrival } from '../model/arrivals.ts'
import type { Host } from '../model/host.ts'
import { deleteTemplate } from '../templates/delete-template.ts'
import { ArrivingFiles, DISK, verifyArrived } from './arriving-files.ts'
import { checkTemplateHeader } from './check-header.ts'
import { keepSnapshot } from './import-snapshot.ts'
import { validateLower } from './keep-bake.ts'
import { readFiles, receivedIn, receiveInFolder } from './receive.ts'

const MIB = 1024 ** 2

export interface TemplateImport {
  readonly id: BuildId
  readonly workspaceId: WorkspaceId
  /** The files that every template boots with. */
  readonly images: Pick<BakeImages, 'kernel' | 'initramfs' | 'bootHash'>
  readonly stopping: AbortSignal
}

/**
 * Receives a template from another host, under the same id, and bakes it. When this resolves, sandboxes can be made from it.
 * If it fails, or the agent is killed, nothing of it is left. A template never changes, so one that is here already is the
 * same.
 * @throws ApiError 400 damaged, 409, 500 it cannot be baked, 507
 */
export async function importTemplate(host: Host, asked: TemplateImport, body: Readable): Promise<TemplateRecord> {
  const { id, workspaceId } = asked
  const { templates, ledger } = host.store
  const known = templates.find(id, workspaceId)
  if (known !== null) return known
  if (templates.find(id, null) !== null || templates.isBeingBuilt(id) || ledger.unreadable.has('template', id)) {
    throw new ApiError('conflict', { detail: 'a template with this id is already here' })
  }
  const arriving = { id, workspaceId, moveId: id }
  return receiveInFolder(host, arriving, { body, mode: 0o711 }, async (arrival, folder) => {
    const files = new ArrivingFiles(host.store, arrival, folder, folder)
    const check = (header: TemplateHeader | SnapshotHeader) => checkTemplateHeader(header, asked)
    const schema = z.union([templateHeader, snapshotHeader])
    const header = await readFiles(host, arrival, files, { body, schema, check })
    if ('snapshot' in header) return keepWithMemory(host, asked, { header, files, arrival, folder })
    const record = await keepDisk(host, asked, { header, files, arrival })
    // The template and its bake have links to the files. The next start removes what is left here.
    await removeTree(folder).catch((error: unknown) =>
      host.log.warn({ err: error, id }, 'remains of an import not removed'),
    )
    return record
  })
}

interface Come<Header> {
  readonly header: Header
  readonly files: ArrivingFiles
  readonly arrival: Arrival
}

/** If the agent is killed after the snapshot is there, the next one deletes it, because no template has its id. */
async function keepWithMemory(
  host: Host,
  { id, workspaceId }: TemplateImport,
  { header, files, arrival, folder }: Come<SnapshotHeader> & { readonly folder: string },
): Promise<TemplateRecord> {
  const ofSnapshot = { id: id as string as SnapshotId, workspaceId }
  const snapshot = await keepSnapshot(host, ofSnapshot, receivedIn(arrival, header, files), arrival, folder)
  const memory = { bytes: snapshot.size_bytes, fingerprint: basename(snapshot.bake) }
  return keep(host, recordOf(header, id, memory), null)
}

async function keep(host: Host, record: TemplateRecord, disk: TemplateDisk | null): Promise<TemplateRecord> {
  try {
    await host.store.templates.keep(record, disk)
  } catch (error) {
    await deleteTemplate(host, record.id)
    throw error
  }
  return record
}

/** Bakes before it keeps: a kept template is complete. */
async function keepDisk(
  host: Host,
  asked: TemplateImport,
  { header, files, arrival }: Come<TemplateHeader>,
): Promise<TemplateRecord> {
  const { templates } = host.store
  const disk = await verifyDisk(host, header, files)
  const record = recordOf(header, asked.id, null)
  // The bake has an image of the guest's memory.
  await files.admit(record.image.memory_mb * MIB)
  return templates.whileBuilding(asked.id, async () => {
    const baked = await bake(host, asked, record, disk, arrival.cancelling.signal)
    arrival.cancelling.signal.throwIfAborted()
    await keep(host, record, disk)
    templates.setBaked(record, baked)
    return record
  })
}

async function verifyDisk(host: Host, { files: sent }: TemplateHeader, files: ArrivingFiles): Promise<TemplateDisk> {
  for (const file of sent) await verifyArrived(host.store, file, files.pathOf(file.name))
  const lower = files.pathOf(`${DISK}lower.qcow2`)
  const hasLower = await isPresent(lower)
  if (hasLower) await validateLower(lower)
  return { rootfs: files.pathOf(DISK + ROOTFS), lower: hasLower ? lower : null }
}

/** @throws ApiError 500 with the reason, 507 */
async function bake(
  host: Host,
  { images, stopping }: TemplateImport,
  { image }: TemplateRecord,
  disk: TemplateDisk,
  cancelled: AbortSignal,
): Promise<BakedTemplate> {
  const place = { host, images, log: BuildLog.inMemory(host.log) }
  try {
    return await bakeImage(place, image, disk, AbortSignal.any([cancelled, stopping]))
  } catch (error) {
    if (cancelled.aborted) throw cancelled.reason
    if (!(error instanceof BuildFailure)) throw error
    throw new ApiError('internal', { detail: `the template cannot be baked: ${error.message}` }, { cause: error })
  }
}

function recordOf(
  { template }: TemplateHeader | SnapshotHeader,
  id: BuildId,
  memory: TemplateRecord['memory'],
): TemplateRecord {
  if (template === undefined) throw new Error('the header was not checked')
  const { workspace_id, image, digest, created_at } = template
  return { id, workspace_id, image, digest, created_at, memory }
}

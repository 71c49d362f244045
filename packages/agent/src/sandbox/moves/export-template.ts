import type { Readable } from 'node:stream'
import type { AgentTemplateContent } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import type { SnapshotId } from '@offshoot/contract/ids'
import type { MovedTemplate, TemplateHeader } from '@offshoot/contract/move-stream'
import type { SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import type { TemplateRecord } from '../../store/templates/template-record.ts'
import type { Host } from '../model/host.ts'
import { DISK } from './arriving-files.ts'
import { exportSnapshot, type SnapshotExport, snapshotContent } from './export-snapshot.ts'
import { writeFiles } from './leave.ts'
import type { MovingFile } from './moving-files.ts'

/** What an export of the template has. @throws ApiError 404, 409, 500 */
export async function templateContent(host: Host, record: TemplateRecord): Promise<AgentTemplateContent> {
  if (record.memory !== null) return snapshotContent(host, await snapshotOf(host, record))
  return { bytes: await host.store.templates.occupiedBytes(record), bake: null, has_memory: false }
}

/**
 * Everything that another host needs of a template: its disk, or the snapshot of one with memory. The stream fails without
 * its end mark if the template is deleted meanwhile.
 * @throws ApiError 404, 409, 500
 */
export async function exportTemplate(
  host: Host,
  record: TemplateRecord,
  asked: Pick<SnapshotExport, 'have' | 'only'>,
): Promise<Readable> {
  const template = describe(record)
  if (record.memory !== null) return exportSnapshot(host, await snapshotOf(host, record), { ...asked, template })
  if (asked.only !== undefined) throw new ApiError('invalidField', { error: 'a template without memory has no bake' })
  const files = await diskFiles(host, record)
  const header: TemplateHeader = {
    format: 1,
    template,
    disk_bytes: await host.store.templates.occupiedBytes(record),
    files: files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
  }
  return writeFiles(header, files)
}

async function diskFiles({ store }: Host, { id }: TemplateRecord): Promise<MovingFile[]> {
  const { rootfs, lower } = await store.templates.disk(id)
  const moving = async (name: string, path: string): Promise<MovingFile> => {
    return { name: DISK + name, ...(await store.bakeContents.seal(path)), content: { path } }
  }
  const files = [await moving('rootfs.ext4', rootfs)]
  return lower === null ? files : [...files, await moving('lower.qcow2', lower)]
}

/** @throws ApiError 404 if it is being deleted */
async function snapshotOf({ store }: Host, { id }: TemplateRecord): Promise<SnapshotRecord> {
  const snapshot = await store.snapshots.find(id as string as SnapshotId, null)
  if (snapshot === null) throw new ApiError('notFound')
  return snapshot
}

function describe({ id, workspace_id, image, digest, created_at }: TemplateRecord): MovedTemplate {
  return { id, workspace_id, image, digest, created_at }
}

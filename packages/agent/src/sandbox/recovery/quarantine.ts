import { relative } from 'node:path'
import type { QuarantineEntry } from '@offshoot/contract/agent-quarantine'
import { ApiError } from '@offshoot/contract/errors'
import { parseBuildId, parseSandboxId, parseSnapshotId, parseVolumeId } from '@offshoot/contract/ids'
import { deleteSandbox } from '../lifecycle/delete.ts'
import type { Host, HostStore } from '../model/host.ts'
import { readManifest } from '../../store/sandboxes/manifest.ts'
import { readoptSandbox } from './recover.ts'
import { readSnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import { readTemplateRecord } from '../../store/templates/template-record.ts'
import { readBuildRecord } from '../../store/builds/build-record.ts'
import { readVolumeRecord } from '../../store/volumes/volume-record.ts'
import type { RecordRead } from '../../store/ledger/read-record.ts'
import type { RecordKind, UnreadableRecord } from '../../store/ledger/unreadable-records.ts'

const READERS: Readonly<Record<RecordKind, (folder: string) => RecordRead<unknown> | Promise<RecordRead<unknown>>>> = {
  sandbox: readManifest,
  snapshot: readSnapshotRecord,
  volume: readVolumeRecord,
  template: readTemplateRecord,
  build: readBuildRecord,
}

/** Everything on this agent's disk that it neither uses nor deletes, oldest first. */
export function listQuarantine({ ledger, dir }: HostStore): QuarantineEntry[] {
  const unreadable = ledger.unreadable.all.map((record) => showUnreadable(record, dir.root))
  return [...ledger.quarantined, ...unreadable].toSorted((a, b) => (a.since < b.since ? -1 : 1))
}

/**
 * Restores an object: moves it from quarantine to its place, or uses one whose unreadable record was repaired.
 * @throws ApiError 404; 409 its record is still missing or unreadable, or something else is in its place
 */
export async function restoreEntry(host: Host, name: string): Promise<void> {
  const unreadable = findUnreadable(host.store, name)
  if (unreadable !== null) return use(host, unreadable.kind, unreadable.id)
  const found = host.store.ledger.find(name)
  if (found === null) throw new ApiError('notFound')
  const { entry, path } = found
  const isObject = isRecordKind(entry.kind)
  if (isObject) refuseUnlessPresent(await READERS[entry.kind as RecordKind](path))
  if ((await host.store.ledger.restore(entry)) === null)
    throw new ApiError('conflict', { detail: `something else is at ${entry.path} by now` })
  if (isObject) await use(host, entry.kind as RecordKind, entry.id)
}

/** Deletes an object permanently, at an operator's request. @throws ApiError 404 */
export async function purgeEntry(host: Host, name: string): Promise<void> {
  const unreadable = findUnreadable(host.store, name)
  if (unreadable !== null) return purgeUnreadable(host, unreadable)
  const found = host.store.ledger.find(name)
  if (found === null) throw new ApiError('notFound')
  await host.store.ledger.purge(found.entry, 'an operator purged it')
}

async function purgeUnreadable(host: Host, { kind, id }: UnreadableRecord): Promise<void> {
  const { ledger, dir } = host.store
  const { sandboxes } = host
  const known = kind === 'sandbox' ? sandboxes.get(id as never) : undefined
  ledger.unreadable.forget(kind, id)
  if (known !== undefined) return deleteSandbox(host, known)
  const folders: Record<RecordKind, string> = {
    sandbox: dir.sandboxes,
    snapshot: dir.snapshots,
    volume: dir.volumes,
    template: dir.templates,
    build: dir.builds,
  }
  await ledger.discard(kind, `${folders[kind]}/${id}`, 'an operator purged it')
}

/** Lets the agent use an object that is in its place. @throws ApiError 409 its record cannot be read */
async function use(host: Host, kind: RecordKind, id: string): Promise<void> {
  const { snapshots, volumes, templates, ledger } = host.store
  const [sandbox, snapshot, volume, template] = [
    parseSandboxId(id),
    parseSnapshotId(id),
    parseVolumeId(id),
    parseBuildId(id),
  ]
  if (kind === 'sandbox' && sandbox !== null) await readoptSandbox(host, sandbox)
  else if (kind === 'snapshot' && snapshot !== null) await snapshots.load(snapshot)
  else if (kind === 'volume' && volume !== null) await volumes.load(volume)
  // The agent loads builds, and the bakes of templates, at its next start.
  else if (kind === 'template' && template !== null) await templates.load(template)
  const still = ledger.unreadable.all.find((record) => record.kind === kind && record.id === id)
  if (still !== undefined) throw new ApiError('conflict', { detail: `the record cannot be read: ${still.reason}` })
}

function refuseUnlessPresent(read: RecordRead<unknown>): void {
  if (read.state === 'absent') {
    throw new ApiError('conflict', { detail: 'the object has no record: put one into its folder in quarantine first' })
  }
  if (read.state === 'unreadable') {
    throw new ApiError('conflict', { detail: 'the record of the object cannot be read: repair it first' })
  }
}

function isRecordKind(kind: QuarantineEntry['kind']): kind is RecordKind {
  return kind in READERS
}

function findUnreadable({ ledger }: HostStore, name: string): UnreadableRecord | null {
  return ledger.unreadable.all.find((record) => nameOf(record) === name) ?? null
}

function nameOf({ kind, id }: UnreadableRecord): string {
  return `${kind}-${id}`
}

function showUnreadable(record: UnreadableRecord, root: string): QuarantineEntry {
  const { kind, id, path, reason, since } = record
  const what = { entry: nameOf(record), state: 'unreadable', kind, id } as const
  return { ...what, path: relative(root, path), reason, layers: null, since }
}

import { readdir } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { join } from 'node:path'
import type { AgentLeave } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import { type AnyHeader, MAX_MOVED_LAYERS, type MovedSandbox } from '@offshoot/contract/move-stream'
import type { BakeContent } from '../../store/bakes/bake-content.ts'
import { CheckpointDamaged } from '../../store/checkpoints/checkpoint-errors.ts'
import type { Checkpoint } from '../../store/checkpoints/checkpoint.ts'
import { writeMove } from '../../store/moves/move-stream.ts'
import { type Manifest, MOVING_FORMAT, writeManifest } from '../../store/sandboxes/manifest.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import {
  contentOf,
  filesOfBake,
  layerFiles,
  memoryFilesOf,
  memoryOf,
  type MovingFile,
  smallFiles,
} from './moving-files.ts'

/**
 * Begins the move of a hibernated sandbox to another host: from here on, nothing but the move or a delete changes it.
 * Repeatable with the same id.
 * @throws ApiError 409 with the reason if it cannot move
 */
export async function leaveHost(host: Host, sandbox: Sandbox, moveId: string): Promise<AgentLeave> {
  if (sandbox.manifest.move === undefined) await refuseUnmovable(host, sandbox)
  // Reads the bake at its first move: longer than a wake should wait.
  const bake = await host.store.bakeContents.describe(sandbox.manifest.bake)
  return sandbox.changeMove(async () => {
    if (sandbox.manifest.move === undefined) await beginLeaving(host, sandbox, moveId)
    requireLeaving(sandbox, moveId)
    const files = await ownFiles(host, sandbox, await readCheckpoint(host, sandbox))
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    return { move_id: moveId, bytes, bake: { hash: bake.hash, bytes: bake.disk_bytes } }
  })
}

async function beginLeaving(host: Host, sandbox: Sandbox, id: string): Promise<void> {
  await refuseUnmovable(host, sandbox)
  const manifest: Manifest = { ...sandbox.manifest, format: MOVING_FORMAT, move: { id, direction: 'leaving' } }
  await writeManifest(host.store.dir.sandbox(sandbox.id), manifest)
  sandbox.manifest = manifest
}

/** @throws ApiError 409 */
function requireLeaving({ manifest: { move } }: Sandbox, moveId: string): void {
  if (move?.direction === 'leaving' && move.id === moveId) return
  throw move === undefined
    ? cannotMove('the sandbox does not leave this host')
    : new ApiError('sandboxMoving', { detail: 'by another move' })
}

async function refuseUnmovable(host: Host, sandbox: Sandbox): Promise<void> {
  const { status, durable, devices, layers } = sandbox.manifest
  if (status !== 'hibernated') throw cannotMove('the sandbox is not hibernated')
  if (!durable && (await hasArchive(host, sandbox))) throw cannotMove('its disk is archived on this host')
  if (devices.length > 0) throw cannotMove('it has volumes, or was forked from a sandbox with volumes')
  if (layers.length > MAX_MOVED_LAYERS) throw cannotMove('its disk has too many layers')
  await readCheckpoint(host, sandbox)
}

function cannotMove(detail: string): ApiError {
  return new ApiError('conflict', { error: 'sandbox cannot be moved', detail })
}

async function hasArchive(host: Host, { id }: Sandbox): Promise<boolean> {
  const names = await readdir(join(host.store.dir.sandbox(id), 'archive')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.length > 0
}

/** `null` if it is hibernated without its memory. @throws ApiError 409 if the memory is damaged: a wake boots the sandbox */
async function readCheckpoint(host: Host, { id, manifest }: Sandbox): Promise<Checkpoint | null> {
  if (manifest.cold) return null
  try {
    return await host.store.checkpoints.read(host.store.dir.hibernation(id))
  } catch (error) {
    if (error instanceof CheckpointDamaged) throw cannotMove(`its memory is damaged: ${error.message}`)
    throw error
  }
}

async function ownFiles(host: Host, sandbox: Sandbox, checkpoint: Checkpoint | null) {
  const { dir } = host.store
  return [
    ...(await smallFiles(dir.sandbox(sandbox.id))),
    ...(checkpoint === null ? [] : memoryFilesOf(dir.hibernation(sandbox.id), checkpoint)),
    ...(await layerFiles(host, sandbox.manifest.layers, checkpoint)),
  ]
}

/**
 * Everything that another host needs of a sandbox that leaves. A stream that fails ends without its end mark.
 * @param have hashes of the bakes that the other host has
 * @param only nothing but the bake
 * @throws ApiError 409
 */
export async function exportSandbox(
  host: Host,
  sandbox: Sandbox,
  {
    moveId,
    have,
    only,
  }: { readonly moveId: string; readonly have: readonly string[]; readonly only?: 'bake' | undefined },
): Promise<Readable> {
  requireLeaving(sandbox, moveId)
  const { manifest } = sandbox
  const checkpoint = await readCheckpoint(host, sandbox)
  const own = only === 'bake' ? [] : await ownFiles(host, sandbox, checkpoint)
  const bake = await host.store.bakeContents.describe(manifest.bake)
  const isIncluded = !have.includes(bake.hash)
  const files = [...own, ...(isIncluded ? filesOfBake(join(host.store.dir.bakes, manifest.bake), bake) : [])]
  const header = {
    format: 1 as const,
    move_id: moveId,
    sandbox: describe(manifest),
    memory: checkpoint === null ? null : memoryOf(checkpoint),
    layers: manifest.layers.length,
    bake: { hash: bake.hash, is_included: isIncluded },
    disk_bytes: diskBytes(own, isIncluded ? bake : null),
    files: files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
  }
  const stream = writeFiles(header, files)
  const end = () => stream.destroy(new ApiError('sandboxNotFound'))
  sandbox.leaving.signal.addEventListener('abort', end, { once: true })
  stream.once('close', () => sandbox.leaving.signal.removeEventListener('abort', end))
  return stream
}

/** @param files those that the header names */
export function writeFiles(header: AnyHeader, files: readonly MovingFile[]): Readable {
  const content = new Map(files.map((file) => [file.name, file]))
  return writeMove(header, ({ name }) => {
    const file = content.get(name)
    if (file === undefined) throw new Error(`no file ${name}`)
    return contentOf(file)
  })
}

function diskBytes(own: readonly { readonly bytes: number }[], bake: BakeContent | null): number {
  return own.reduce((sum, { bytes }) => sum + bytes, bake?.disk_bytes ?? 0)
}

function describe(manifest: Manifest): MovedSandbox {
  const { id, workspace_id, template, created_at, cpu, memory_mb, guest_ip, boot_ms, boot_mode } = manifest
  const { from_snapshot, parent_id, fork_tree_id, persistent, idle_timeout_seconds } = manifest
  const { run_as, egress, visibility, limits } = manifest
  const lineage = { from_snapshot, parent_id, fork_tree_id }
  const settings = { persistent, idle_timeout_seconds, run_as, egress, visibility, limits }
  const machine = { cpu, memory_mb, guest_ip, boot_ms, boot_mode }
  // Earlier agents know no such field, and must not take a sandbox whose disk they would not keep.
  const durable = manifest.durable ? { durable: true as const } : {}
  return { id, workspace_id, template, created_at, ...machine, ...lineage, ...settings, ...durable }
}

import type {
  AnyHeader,
  MovedFile,
  MoveHeader,
  MovedTemplate,
  SnapshotHeader,
  StreamHeader,
  TemplateHeader,
} from '@offshoot/contract/move-stream'
import { bakeFileOf, hashOfBake, movedNameOf, MOVING } from '../../store/bakes/bake-content.ts'
import { MoveDamaged } from '../../store/moves/move-damaged.ts'
import { DISK } from './arriving-files.ts'
import { SMALL_FILES } from './moving-files.ts'

const MIB = 1024 ** 2
/** Bytes. Logs and events are far smaller. */
const MAX_SMALL_BYTES = 32 * MIB
const MAX_RUNS_BYTES = MIB
const MAX_STATE_BYTES = 256 * MIB
const OPTIONAL: ReadonlySet<string> = new Set([
  ...SMALL_FILES,
  'bake/lower.qcow2',
  'bake/volumes.state',
  `${DISK}lower.qcow2`,
])

/** What this agent has asked for. */
export interface Expected {
  readonly id: string
  readonly workspaceId: string
  readonly moveId: string
}

/**
 * Checks that the header of a stream is of the expected sandbox, and that the stream has exactly the files that the sandbox
 * needs, each of a possible size.
 * @throws MoveDamaged
 */
export function checkHeader(header: MoveHeader, { id, workspaceId, moveId }: Expected): void {
  const { sandbox } = header
  if (sandbox.id !== id || sandbox.workspace_id !== workspaceId || header.move_id !== moveId) {
    throw new MoveDamaged('the stream is of another sandbox or of another move')
  }
  checkFiles(header, [...SMALL_FILES, ...namesOf(header)], sandbox.memory_mb)
}

/**
 * The same for a snapshot. Without its memory, only a disk can be used that was written for that.
 * @throws MoveDamaged
 */
export function checkSnapshotHeader(header: SnapshotHeader, asked: Pick<Expected, 'id' | 'workspaceId'>): void {
  // Nothing lists the snapshot of a template that is not here.
  if (header.snapshot.origin === 'template') throw new MoveDamaged('the stream is of a template')
  checkSnapshot(header, asked)
}

function checkSnapshot(header: SnapshotHeader, { id, workspaceId }: Pick<Expected, 'id' | 'workspaceId'>): void {
  const { snapshot, memory } = header
  if (snapshot.id !== id || snapshot.workspace_id !== workspaceId) {
    throw new MoveDamaged('the stream is of another snapshot')
  }
  if (memory === null && !snapshot.durable) throw new MoveDamaged('the memory of the snapshot is missing')
  checkFiles(header, namesOf(header), snapshot.memory_mb)
}

/**
 * The same for a template, with memory or without.
 * @throws MoveDamaged
 */
export function checkTemplateHeader(
  header: TemplateHeader | SnapshotHeader,
  asked: Pick<Expected, 'id' | 'workspaceId'>,
): void {
  checkTemplate(header.template, asked)
  if ('snapshot' in header) {
    checkSnapshot(header, asked)
    if (header.snapshot.origin !== 'template') throw new MoveDamaged('the stream is of a snapshot')
    if (header.memory === null) throw new MoveDamaged('the memory of the template is missing')
    return
  }
  const { memory_mb: memoryMb, disk_mb: diskMb } = header.template.image
  const names = [`${DISK}rootfs.ext4`, `${DISK}lower.qcow2`]
  checkFiles(header, names, memoryMb)
  const rootfs = header.files.find(({ name }) => name === names[0])
  if (rootfs === undefined || rootfs.bytes > diskMb * MIB) throw new MoveDamaged('impossible size of the disk')
}

function checkTemplate(template: MovedTemplate | undefined, { id, workspaceId }: Pick<Expected, 'id' | 'workspaceId'>) {
  if (template?.id !== id || template.workspace_id !== workspaceId) {
    throw new MoveDamaged('the stream is of another template')
  }
  // An image without a title came with the product, and is trusted more.
  const { name, title } = template.image
  if (name !== id || title === undefined) throw new MoveDamaged('the image of the template is of another one')
}

function checkFiles(header: AnyHeader, possibleNames: readonly string[], memoryMb: number): void {
  const { files } = header
  const names = files.map(({ name }) => name)
  const possible = new Set(possibleNames)
  const isComplete = [...possible].every((name) => OPTIONAL.has(name) || names.includes(name))
  if (!isComplete || new Set(names).size !== names.length || names.some((name) => !possible.has(name))) {
    throw new MoveDamaged('the stream lacks files or has others')
  }
  for (const file of files)
    if (!isPossible(file, memoryMb * MIB)) throw new MoveDamaged(`impossible size of ${file.name}`)
  if (!('bake' in header)) return
  const { bake } = header
  const ofBake = files.filter(({ name }) => bakeFileOf(name) !== null)
  if (bake.is_included && hashOfBake(ofBake) !== bake.hash) throw new MoveDamaged('the bake has another hash')
}

function namesOf({ memory, layers, bake }: StreamHeader): string[] {
  const bases = Array.from({ length: memory?.bases ?? 0 }, (_, index) => `base-${index}.`)
  const pages = memory === null ? [] : [...bases, ''].flatMap((prefix) => [`${prefix}pages`, `${prefix}runs`])
  return [
    ...(memory === null ? [] : [...pages, 'state'].map((name) => `memory/${name}`)),
    ...Array.from({ length: layers }, (_, index) => `layers/${index}`),
    ...(bake.is_included ? MOVING.map(movedNameOf) : []),
  ]
}

function isPossible({ name, bytes }: MovedFile, memoryBytes: number): boolean {
  if (name === 'bake/memory') return bytes === memoryBytes
  if (name.endsWith('pages')) return bytes <= memoryBytes
  if (name.endsWith('runs')) return bytes <= MAX_RUNS_BYTES
  if (name.endsWith('state')) return bytes <= MAX_STATE_BYTES
  return !name.endsWith('.json') && !name.endsWith('.jsonl') ? true : bytes <= MAX_SMALL_BYTES
}

import { randomUUID } from 'node:crypto'
import type { MovedFile, MoveHeader, SnapshotHeader, TemplateHeader } from '@offshoot/contract/move-stream'
import { describe, expect, it } from 'vitest'
import { hashOfBake } from '../../store/bakes/bake-content.ts'
import { MoveDamaged } from '../../store/moves/move-damaged.ts'
import { movedSandbox } from '../../test/moved-sandbox.ts'
import { checkHeader, checkSnapshotHeader, checkTemplateHeader } from './check-header.ts'

const MIB = 1024 ** 2
const CREATED_AT = '2026-11-21T00:00:00.000Z'
const asked = { id: randomUUID(), workspaceId: randomUUID(), moveId: randomUUID() }
const file = (name: string, bytes = 1): MovedFile => ({ name, bytes, sha256: 'a'.repeat(64) })
const bake = [
  file('bake/memory', 64 * MIB),
  ...['state', 'rootfs.ext4', 'disk.qcow2', 'bake.json'].map((name) => file(`bake/${name}`)),
]
const own = [
  file('events.jsonl'),
  ...['base-0.pages', 'base-0.runs', 'pages', 'runs', 'state'].map((name) => file(`memory/${name}`)),
  file('layers/0'),
  file('layers/1'),
]

const header: MoveHeader = {
  format: 1,
  move_id: asked.moveId,
  sandbox: movedSandbox({ id: asked.id, workspace_id: asked.workspaceId }),
  memory: { machine: 'm', tsc_khz: 1, guest_ip: null, created_at: CREATED_AT, bases: 1 },
  layers: 2,
  bake: { hash: hashOfBake(bake), is_included: true },
  disk_bytes: 1,
  files: [...own, ...bake],
}

describe('the header of a sandbox that arrives', () => {
  it('may be complete, may lack the bake, and may lack the memory', () => {
    checkHeader(header, asked)
    checkHeader({ ...header, bake: { ...header.bake, is_included: false }, files: own }, asked)
    const disk = header.files.filter(({ name }) => !name.startsWith('memory/'))
    checkHeader({ ...header, memory: null, files: disk.toReversed() }, asked)
    expect(header.files).toHaveLength(13)
  })

  it.each<readonly [string, Partial<MoveHeader>]>([
    ['of another move', { move_id: randomUUID() }],
    ['of another sandbox', { sandbox: { ...header.sandbox, id: randomUUID() } }],
    ['of another workspace', { sandbox: { ...header.sandbox, workspace_id: randomUUID() } }],
    ['without a layer', { files: header.files.filter(({ name }) => name !== 'layers/0') }],
    ['with one layer more', { files: [...header.files, file('layers/2')] }],
    ['with a file twice', { files: [...header.files, file('layers/1')] }],
    ['with a base that it does not count', { files: [...header.files, file('memory/base-1.pages')] }],
    ['with files of a bake that it does not include', { bake: { ...header.bake, is_included: false } }],
    ['with another bake than it names', { bake: { ...header.bake, hash: 'b'.repeat(64) } }],
    ['with more pages than memory', { files: withFile('memory/pages', 64 * MIB + 1) }],
    ['with too many runs', { files: withFile('memory/runs', 2 * MIB) }],
    ['with a device state of a gigabyte', { files: withFile('memory/state', 1024 * MIB) }],
    ['with a gigabyte of events', { files: withFile('events.jsonl', 1024 * MIB) }],
  ])('is refused %s', (_what, change) => {
    expect(() => checkHeader({ ...header, ...change }, asked)).toThrow(MoveDamaged)
  })

  it('is refused if the memory of the bake is not as large as that of the guest', () => {
    const files = withFile('bake/memory', 32 * MIB)
    const hash = hashOfBake(files.filter(({ name }) => name.startsWith('bake/')))
    const smaller = { ...header, files, bake: { hash, is_included: true } }
    expect(() => checkHeader(smaller, asked)).toThrow('impossible size of bake/memory')
  })
})

const { move_id: _move, sandbox, ...content } = header
const snapshot: SnapshotHeader = {
  ...content,
  snapshot: {
    id: asked.id,
    workspace_id: asked.workspaceId,
    sandbox_id: randomUUID(),
    template: 'base',
    cpu: 1,
    memory_mb: sandbox.memory_mb,
    guest_ip: null,
    created_at: CREATED_AT,
    origin: 'user',
    devices: [],
    run_as: {},
    durable: false,
  },
  files: header.files.filter(({ name }) => name !== 'events.jsonl'),
}

describe('the header of a snapshot that arrives', () => {
  const disk = { memory: null, files: snapshot.files.filter(({ name }) => !name.startsWith('memory/')) }

  it('may be complete, and may lack the memory if the snapshot is durable', () => {
    checkSnapshotHeader(snapshot, asked)
    checkSnapshotHeader({ ...snapshot, ...disk, snapshot: { ...snapshot.snapshot, durable: true } }, asked)
    expect(() => checkSnapshotHeader({ ...snapshot, ...disk }, asked)).toThrow('the memory of the snapshot is missing')
  })

  it.each<readonly [string, Partial<SnapshotHeader>]>([
    ['of another snapshot', { snapshot: { ...snapshot.snapshot, id: randomUUID() } }],
    ['of a template', { snapshot: { ...snapshot.snapshot, origin: 'template' } }],
    ['of another workspace', { snapshot: { ...snapshot.snapshot, workspace_id: randomUUID() } }],
    ['with files of a sandbox', { files: [...snapshot.files, file('events.jsonl')] }],
    ['without a layer', { files: snapshot.files.filter(({ name }) => name !== 'layers/0') }],
    ['without its memory, although it says that it has one', { files: disk.files }],
    ['with another bake than it names', { bake: { ...snapshot.bake, hash: 'b'.repeat(64) } }],
  ])('is refused %s', (_what, change) => {
    expect(() => checkSnapshotHeader({ ...snapshot, ...change }, asked)).toThrow(MoveDamaged)
  })
})

describe('the header of a template that arrives', () => {
  const image = {
    name: asked.id,
    title: 'mine',
    version: 'a'.repeat(64),
    cpu: 1,
    memory_mb: 128,
    disk_mb: 64,
    start_cmd: null,
    ready_cmd: null,
    description: '',
    packages: {},
  }
  const template = { id: asked.id, workspace_id: asked.workspaceId, image, digest: 'sha256:a', created_at: CREATED_AT }
  const rootfs = file('disk/rootfs.ext4', 64 * MIB)
  const disk: TemplateHeader = { format: 1, template, disk_bytes: 1, files: [rootfs] }
  const withMemory: SnapshotHeader = { ...snapshot, template, snapshot: { ...snapshot.snapshot, origin: 'template' } }

  it('may have one layer or two, or memory', () => {
    const two = { ...disk, files: [rootfs, file('disk/lower.qcow2')] }
    for (const possible of [disk, two, withMemory]) {
      expect(() => checkTemplateHeader(possible, asked)).not.toThrow()
    }
  })

  it.each<readonly [string, TemplateHeader | SnapshotHeader]>([
    ['of another template', { ...disk, template: { ...template, id: randomUUID() } }],
    ['of another workspace', { ...disk, template: { ...template, workspace_id: randomUUID() } }],
    ['whose image has another name', { ...disk, template: { ...template, image: { ...image, name: 'base' } } }],
    ['whose image came with the product', { ...disk, template: { ...template, image: withoutTitle(image) } }],
    ['without a disk', { ...disk, files: [] }],
    ['with other files', { ...disk, files: [rootfs, file('layers/0')] }],
    ['with a larger disk than it says', { ...disk, files: [file('disk/rootfs.ext4', 65 * MIB)] }],
    ['that is a snapshot', snapshot],
    ['with the snapshot of a user', { ...snapshot, template }],
    ['with the snapshot of another', { ...withMemory, snapshot: { ...withMemory.snapshot, id: randomUUID() } }],
    ['without its memory', { ...withMemory, memory: null, snapshot: { ...withMemory.snapshot, durable: true } }],
  ])('is refused %s', (_what, refused) => {
    expect(() => checkTemplateHeader(refused, asked)).toThrow(MoveDamaged)
  })
})

function withoutTitle({ title: _title, ...image }: TemplateHeader['template']['image']) {
  return image
}

function withFile(name: string, bytes: number): MovedFile[] {
  return header.files.map((each) => (each.name === name ? file(name, bytes) : each))
}

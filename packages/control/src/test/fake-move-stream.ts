import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { AgentSandbox, AgentSnapshot } from '@offshoot/contract/agent-api'
import {
  type AnyHeader,
  MOVE_BEGIN,
  MOVE_END,
  moveHeader,
  snapshotHeader,
  streamHeader,
  type StreamHeader,
} from '@offshoot/contract/move-stream'
import type { z } from 'zod'

/** The stream of a sandbox without files. */
export function fakeStream(sandbox: AgentSandbox, moveId: string, bake: string, hasBake: boolean): Buffer {
  const { id, workspace_id, template, cpu, memory_mb, guest_ip, boot_ms, boot_mode, visibility } = sandbox
  const header = moveHeader.parse({
    format: 1,
    move_id: moveId,
    sandbox: {
      id,
      workspace_id,
      template,
      cpu,
      memory_mb,
      guest_ip,
      boot_ms,
      boot_mode,
      visibility,
      created_at: new Date(0).toISOString(),
      from_snapshot: null,
      parent_id: null,
      fork_tree_id: null,
      persistent: true,
      idle_timeout_seconds: 60,
      run_as: {},
      egress: 'internet',
      limits: null,
    },
    memory: null,
    layers: 0,
    bake: { hash: bake, is_included: hasBake },
    disk_bytes: 0,
    files: [],
  })
  return written(header)
}

/** The stream of a snapshot without files. */
export function fakeSnapshotStream(
  { size_bytes: _size, ...snapshot }: AgentSnapshot,
  bake: StreamHeader['bake'],
  hasMemory: boolean,
): Buffer {
  const machine = { guest_ip: null, devices: [], run_as: {}, durable: !hasMemory }
  const memory = { machine: 'fake', guest_ip: null, created_at: snapshot.created_at, bases: 0 }
  return written(
    snapshotHeader.parse({
      format: 1,
      snapshot: { ...snapshot, ...machine },
      memory: hasMemory ? memory : null,
      layers: 0,
      bake,
      disk_bytes: 0,
      files: [],
    }),
  )
}

/** The stream of a template without files. */
export function fakeTemplateStream(id: string, workspaceId: string): Buffer {
  const size = { cpu: 1, memory_mb: 512, disk_mb: 64 }
  const commands = { start_cmd: null, ready_cmd: null }
  const image = {
    name: id,
    title: 'mine',
    version: 'a'.repeat(64),
    ...size,
    ...commands,
    description: '',
    packages: {},
  }
  const template = { id, workspace_id: workspaceId, image, digest: '', created_at: new Date(0).toISOString() }
  return written({ format: 1, template, disk_bytes: 0, files: [] })
}

function written(header: AnyHeader): Buffer {
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return zstdCompressSync(Buffer.concat([Buffer.from(MOVE_BEGIN), length, text, Buffer.from(MOVE_END)]))
}

/** `null`: it is damaged. */
export function headerOf<Header extends AnyHeader = StreamHeader>(
  stream: Buffer,
  schema: z.ZodType<Header> = streamHeader as never,
): Header | null {
  try {
    const plain = zstdDecompressSync(stream)
    const isWhole = plain.subarray(-MOVE_END.length).toString() === MOVE_END
    return isWhole ? schema.parse(JSON.parse(plain.subarray(12, -MOVE_END.length).toString())) : null
  } catch {
    return null
  }
}

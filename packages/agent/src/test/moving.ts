import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import type { AgentBakes, AgentLeave } from '@offshoot/contract/agent-move'
import { type AnyHeader, moveHeader, type MoveHeader } from '@offshoot/contract/move-stream'
import type { z } from 'zod'
import { readMove, writeMove } from '../store/moves/move-stream.ts'
import { type AgentProcess, WORKSPACE } from './agent-process.ts'

export interface Left {
  readonly moveId: string
  readonly leave: AgentLeave
  readonly stream: Buffer
}

/** Begins a move and reads its stream. @throws Error if that fails */
export async function leave(from: AgentProcess, to: AgentProcess, id: string): Promise<Left> {
  const moveId = randomUUID()
  const { status, body } = await from.act<AgentLeave>(id, 'leave', { move_id: moveId })
  if (status !== 200) throw new Error(`leave answered ${status}: ${JSON.stringify(body)}`)
  const bakes = await to.call<AgentBakes>('GET', '/v1/bakes', { workspace: null })
  return { moveId, leave: body, stream: await exported(from, id, moveId, bakes.body.hashes) }
}

/** The stream of a sandbox that leaves. @param more of the query. @throws Error if that fails */
export async function exported(
  from: AgentProcess,
  id: string,
  moveId: string,
  hashes: readonly string[],
  more = '',
): Promise<Buffer> {
  const have = hashes.map((hash) => `&have=${hash}`).join('') + more
  const response = await from.open(`/v1/sandboxes/${id}/export?move_id=${moveId}${have}`, new AbortController().signal)
  if (response.status !== 200) throw new Error(`export answered ${response.status}: ${await response.text()}`)
  return Buffer.from(await response.arrayBuffer())
}

export async function arrive(
  to: AgentProcess,
  id: string,
  moveId: string,
  stream: Uint8Array | ReadableStream,
): Promise<{ readonly status: number; readonly body: AgentSandbox & { error?: string; detail?: string } }> {
  const response = await fetch(`${to.url}/v1/sandboxes/${id}/import?move_id=${moveId}`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${await to.token(WORKSPACE)}`,
      'content-type': 'application/octet-stream',
    },
    body: stream as RequestInit['body'] & {},
    ...({ duplex: 'half' } as object),
  })
  return { status: response.status, body: (await response.json()) as AgentSandbox }
}

export async function settle(on: AgentProcess, id: string, moveId: string, outcome: 'stay' | 'gone'): Promise<number> {
  return (await on.act(id, 'settle', { move_id: moveId, outcome })).status
}

/** Moves a hibernated sandbox. @throws Error if that fails */
export async function move(from: AgentProcess, to: AgentProcess, id: string): Promise<Left> {
  const left = await leave(from, to, id)
  const arrived = await arrive(to, id, left.moveId, left.stream)
  if (arrived.status !== 200) throw new Error(`import answered ${arrived.status}: ${JSON.stringify(arrived.body)}`)
  const settled = [await settle(to, id, left.moveId, 'stay'), await settle(from, id, left.moveId, 'gone')]
  if (settled.join() !== '204,204') throw new Error(`settle answered ${settled.join()}`)
  return left
}

/** The same stream with another header, as another host would have sent it. */
export async function withHeader(stream: Buffer, change: (header: MoveHeader) => MoveHeader): Promise<Buffer>
export async function withHeader<Header extends AnyHeader>(
  stream: Buffer,
  change: (header: Header) => Header,
  schema: z.ZodType<Header>,
): Promise<Buffer>
export async function withHeader(
  stream: Buffer,
  change: (header: never) => AnyHeader,
  schema: z.ZodType<AnyHeader> = moveHeader,
): Promise<Buffer> {
  const { header, contents } = await contentsOf(stream, schema)
  return written(change(header as never), contents)
}

/** A stream with the files of both, as control makes it of stored ones. */
export async function withBake(stream: Buffer, bake: Buffer, moveId: string): Promise<Buffer> {
  const [own, ofBake] = await Promise.all([contentsOf(stream, moveHeader), contentsOf(bake, moveHeader)])
  const joined = {
    ...own.header,
    move_id: moveId,
    bake: ofBake.header.bake,
    disk_bytes: own.header.disk_bytes + ofBake.header.disk_bytes,
    files: [...own.header.files, ...ofBake.header.files],
  }
  return written(joined, new Map([...own.contents, ...ofBake.contents]))
}

async function contentsOf<Header extends AnyHeader>(
  stream: Buffer,
  schema: z.ZodType<Header>,
): Promise<{ header: Header; contents: Map<string, Buffer> }> {
  let header: Header | undefined
  const contents = new Map<string, Buffer>()
  await readMove(Readable.from([stream], { objectMode: false }), schema, {
    header: async (read) => {
      header = read
    },
    file: async (file, read) => {
      const content = Buffer.alloc(file.bytes)
      await read(async (data, at) => {
        data.copy(content, at)
      })
      contents.set(file.name, content)
    },
  })
  if (header === undefined) throw new Error('the stream has no header')
  return { header, contents }
}

function written(header: AnyHeader, contents: ReadonlyMap<string, Buffer>): Promise<Buffer> {
  return buffer(
    writeMove(header, async function* ({ name }) {
      yield contents.get(name) ?? Buffer.alloc(0)
    }),
  )
}

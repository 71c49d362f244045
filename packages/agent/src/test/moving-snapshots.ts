import { randomUUID } from 'node:crypto'
import type { AgentSnapshot, AgentSnapshotList } from '@offshoot/contract/agent-api'
import type { AgentSnapshotContent } from '@offshoot/contract/agent-move'
import { type AgentProcess, WORKSPACE } from './agent-process.ts'

/** Takes a snapshot of a sandbox. @throws Error if that fails */
export async function snapshotOf(on: AgentProcess, sandboxId: string): Promise<string> {
  const id = randomUUID()
  const { status, body } = await on.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`, { body: { id } })
  if (status !== 201) throw new Error(`the snapshot answered ${status}: ${JSON.stringify(body)}`)
  return id
}

export async function contentOf(on: AgentProcess, id: string): Promise<AgentSnapshotContent> {
  return (await on.call<AgentSnapshotContent>('GET', `/v1/snapshots/${id}/content`)).body
}

/** @param query of the export, such as `memory=none` */
export async function openSnapshot(on: AgentProcess, id: string, query = ''): Promise<Response> {
  return on.open(`/v1/snapshots/${id}/export?${query}`, new AbortController().signal)
}

/** The stream of a snapshot. @throws Error if that fails */
export async function exportedSnapshot(on: AgentProcess, id: string, query = ''): Promise<Buffer> {
  const response = await openSnapshot(on, id, query)
  if (response.status !== 200) throw new Error(`export answered ${response.status}: ${await response.text()}`)
  return Buffer.from(await response.arrayBuffer())
}

export async function arriveSnapshot(
  to: AgentProcess,
  id: string,
  stream: Uint8Array | ReadableStream,
): Promise<{ readonly status: number; readonly body: AgentSnapshot & { error?: string; detail?: string } }> {
  const response = await fetch(`${to.url}/v1/snapshots/${id}/import`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${await to.token(WORKSPACE)}`, 'content-type': 'application/octet-stream' },
    body: stream as RequestInit['body'] & {},
    ...({ duplex: 'half' } as object),
  })
  return { status: response.status, body: (await response.json()) as AgentSnapshot }
}

export async function listedSnapshots(on: AgentProcess): Promise<string[]> {
  const { body } = await on.call<AgentSnapshotList>('GET', '/v1/snapshots', { workspace: null })
  return body.snapshots.map(({ id }) => id)
}

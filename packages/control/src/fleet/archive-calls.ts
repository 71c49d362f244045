import {
  type AgentArchive,
  agentArchive,
  type ArchivedFile,
  type ArchivedFiles,
  archivedFiles,
  MAX_ARCHIVED_BYTES,
} from '@offshoot/contract/agent-archive'
import { MAX_REFUSAL_BYTES, readBeginning, readWhole } from '../platform/http/bounded-body.ts'
import { AgentRefused, AgentUnreachable } from './agent-failure.ts'
import type { AgentClient } from './agent-client.ts'
import { RECORD_TIMEOUT_MS, type Subject } from './sandbox-calls.ts'

/** Milliseconds to wake a sandbox and to receive a file from it. */
const TAKE_TIMEOUT_MS = 110_000
const PRUNE_TIMEOUT_MS = 60_000
/** The marker of a lost file: no file that a recovery asks for. */
export const GAP = 'lost'
/** Milliseconds for one file of an archive. */
const FILE_TIMEOUT_MS = 60_000

/** Calls about the archive that an agent keeps of a sandbox. All throw AgentUnreachable and AgentRefused. */
export async function readArchive(client: AgentClient, { id, workspaceId, requestId }: Subject): Promise<AgentArchive> {
  const path = `/v1/sandboxes/${id}/archive`
  return agentArchive.parse(
    await client.ask({ method: 'GET', path, workspaceId, requestId, timeoutMs: RECORD_TIMEOUT_MS }),
  )
}

/** Waits until the archive has the file of that name. */
export function takeIntoArchive(client: AgentClient, subject: Subject, name: string): Promise<unknown> {
  return post(client, subject, 'take', { name }, TAKE_TIMEOUT_MS)
}

/** Removes files that were archived before that time. */
export function pruneArchive(client: AgentClient, subject: Subject, before: Date): Promise<unknown> {
  return post(client, subject, 'prune', { before: before.toISOString() }, PRUNE_TIMEOUT_MS)
}

/** Serves a sandbox the files that it requests from another sandbox's archive, until `over` aborts. */
export function feedFromArchive(
  client: AgentClient,
  subject: Subject,
  from: string,
  over: AbortSignal,
): Promise<unknown> {
  return post(client, subject, 'feed', { from }, 0, over)
}

function post(
  client: AgentClient,
  { id, workspaceId, requestId }: Subject,
  action: string,
  body: object,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<unknown> {
  const path = `/v1/sandboxes/${id}/archive/${action}`
  const call = { method: 'POST', path, workspaceId, requestId, body: JSON.stringify(body), timeoutMs } as const
  return client.ask({ ...call, ...(signal && { signal }) })
}

/** Files of an archive that came after a cursor; `''`: the first ones. */
export async function listArchived(client: AgentClient, of: Subject, after: string): Promise<ArchivedFiles> {
  const { id, workspaceId, requestId } = of
  const path = `/v1/sandboxes/${id}/archive/files?${new URLSearchParams({ after }).toString()}`
  return archivedFiles.parse(
    await client.ask({ method: 'GET', path, workspaceId, requestId, timeoutMs: RECORD_TIMEOUT_MS }),
  )
}

/** The compressed content of a file; `null`: the archive does not have it any more. */
export async function readArchived(
  client: AgentClient,
  subject: Subject,
  name: string,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const call = callOf(subject, 'GET', name, signal)
  const { statusCode, body } = await client.forward(call)
  if (statusCode !== 200) {
    const text = (await readBeginning(body, MAX_REFUSAL_BYTES)).toString()
    if (statusCode === 404) return null
    throw new AgentRefused(call, statusCode, text)
  }
  return readWhole(body, MAX_ARCHIVED_BYTES).catch((error: unknown) => {
    throw new AgentUnreachable(call, error)
  })
}

/** Puts a file into the archive of a sandbox on another host. Repeatable. */
export async function putArchived(
  client: AgentClient,
  subject: Subject,
  { name, taken_at: takenAt }: Pick<ArchivedFile, 'name' | 'taken_at'>,
  content: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams({ taken_at: takenAt }).toString()
  const call = { ...callOf(subject, 'PUT', `${name}?${query}`, signal), body: content }
  const headers = { 'content-type': 'application/octet-stream' }
  const answer = await client.forward({ ...call, headers })
  const text = (await readBeginning(answer.body, MAX_REFUSAL_BYTES)).toString()
  if (answer.statusCode >= 300) throw new AgentRefused(call, answer.statusCode, text)
}

function callOf({ id, workspaceId, requestId }: Subject, method: 'GET' | 'PUT', file: string, signal: AbortSignal) {
  const path = `/v1/sandboxes/${id}/archive/files/${file}`
  const times = { timeoutMs: FILE_TIMEOUT_MS, silenceMs: FILE_TIMEOUT_MS }
  return { method, path, workspaceId, requestId, headers: {}, signal, ...times } as const
}

import { parseSnapshotId } from '@offshoot/contract/ids'
import { snapshot as snapshotSchema } from '@offshoot/contract/snapshot'
import { z } from 'zod'
import type { ControlClient } from '../control/control-client.ts'
import { parseShownId } from '../base/sandbox-id.ts'
import { ApiFailure } from './errors.ts'
import { isNotFound } from './own-sandboxes.ts'

/** Names of templates that clients ask for by default, and ours in their place. */
const ALIASES: Readonly<Record<string, string>> = {
  e2b: 'base',
  'code-interpreter-v1': 'code-interpreter',
  // Mastra's own template: E2B's base with s3fs and FUSE. Its name is a hash of that list. Mastra builds it if it is
  // missing. Mounts install the tools if they are missing.
  'mastra-5e041282b68ff13a': 'base',
}
/**
 * The template that clients choose when they are given MCP servers. They start the program of this name. Without it they
 * end the sandbox, and tell their users that it is missing.
 */
const MCP_TEMPLATE = 'mcp-gateway'
/** A tag after a template's or a snapshot's name. Offshoot has one version of each. */
const TAG = /:[\w.-]+$/

export interface BootSource {
  readonly template: string
  readonly from_snapshot?: string
}

/** The template that a client's text names. */
export function templateOf(text: string): string {
  const name = text.replace(TAG, '')
  return ALIASES[name] ?? name
}

/**
 * Starts a sandbox from a template, or else from a snapshot with the id or name. Most sandboxes start from a template,
 * so this asks for the snapshot only if there is no such template.
 *
 * @throws {ApiFailure} 404
 */
export async function startFrom<T>(
  { control, token, text }: { control: ControlClient; token: string; text: string },
  start: (source: BootSource) => Promise<T>,
): Promise<T> {
  const name = text.replace(TAG, '')
  try {
    return await start({ template: templateOf(name) })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  const snapshot = await findSnapshot(control, token, name)
  if (snapshot !== null) return start({ template: snapshot.template, from_snapshot: snapshot.id })
  if (name === MCP_TEMPLATE) return start({ template: 'base' })
  throw new ApiFailure(404, `template ${JSON.stringify(text)} not found`)
}

/** The newest snapshot with an id or a name; `null` if there is none. */
export async function findSnapshot(control: ControlClient, token: string, text: string) {
  const id = parseSnapshotId(parseShownId(text) ?? '')
  const [named] = await control.read(z.array(snapshotSchema), {
    method: 'GET',
    path: '/v1/snapshots',
    token,
    query: { name: text.slice(0, 128), limit: 1 },
  })
  if (id === null || named !== undefined) return named ?? null
  try {
    return await control.read(snapshotSchema, { method: 'GET', path: `/v1/snapshots/${id}`, token })
  } catch (error) {
    if (isNotFound(error)) throw new ApiFailure(404, `template ${JSON.stringify(text)} not found`)
    throw error
  }
}

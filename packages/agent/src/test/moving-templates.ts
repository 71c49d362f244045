import { randomUUID } from 'node:crypto'
import type { AgentBuild, AgentTemplateId, agentTemplateList } from '@offshoot/contract/agent-build'
import type { z } from 'zod'
import { type AgentProcess, WORKSPACE } from './agent-process.ts'
import { TemplateBuilder } from './template-builder.ts'

/** Makes a template from a sandbox, and deletes the sandbox. @returns its id. @throws Error if that fails */
export async function templateOf(on: AgentProcess, sandboxId: string, more: object): Promise<string> {
  const body = { id: randomUUID(), name: 'mine', memory: false, ...more }
  const made = await on.call<AgentBuild>('POST', `/v1/sandboxes/${sandboxId}/template`, { body })
  if (made.status !== 202) throw new Error(`the template answered ${made.status}: ${JSON.stringify(made.body)}`)
  const build = await new TemplateBuilder(on).untilEnded(made.body.id)
  if (build.error !== null) throw new Error(build.error)
  await on.delete(sandboxId)
  return build.id
}

/** @param query of the export, such as `only=bake` */
export async function openTemplate(on: AgentProcess, id: string, query = ''): Promise<Response> {
  return on.open(`/v1/templates/${id}/export?${query}`, new AbortController().signal)
}

/** The stream of a template. @throws Error if that fails */
export async function exportedTemplate(on: AgentProcess, id: string, query = ''): Promise<Buffer> {
  const response = await openTemplate(on, id, query)
  if (response.status !== 200) throw new Error(`export answered ${response.status}: ${await response.text()}`)
  return Buffer.from(await response.arrayBuffer())
}

export async function arriveTemplate(
  to: AgentProcess,
  id: string,
  stream: Uint8Array | ReadableStream,
  workspace: string | null = WORKSPACE,
): Promise<{ readonly status: number; readonly body: AgentTemplateId & { error?: string; detail?: string } }> {
  const response = await fetch(`${to.url}/v1/templates/${id}/import`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${await to.token(workspace)}`, 'content-type': 'application/octet-stream' },
    body: stream as RequestInit['body'] & {},
    ...({ duplex: 'half' } as object),
  })
  return { status: response.status, body: (await response.json()) as AgentTemplateId }
}

export async function listedTemplates(on: AgentProcess): Promise<string[]> {
  const { body } = await on.call<z.infer<typeof agentTemplateList>>('GET', '/v1/templates', { workspace: null })
  return body.templates.map(({ id }) => id)
}

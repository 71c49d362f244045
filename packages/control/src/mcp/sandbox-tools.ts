import { forkTree } from '@offshoot/contract/fork'
import { createSandboxBody, sandbox as sandboxSchema, type Sandbox } from '@offshoot/contract/sandbox'
import { snapshot as snapshotSchema } from '@offshoot/contract/snapshot'
import { type PreviewAddress, previewUrl } from '@offshoot/contract/preview-address'
import { template as templateSchema } from '@offshoot/contract/template'
import { z } from 'zod'
import { type AnyTool, CHANGES, READS, REMOVES, tool } from './tool.ts'

export const sandboxId = z.uuid().describe('Id of a sandbox')

const shownSandbox = z.object({
  id: z.string(),
  template: z.string(),
  status: z.string(),
  metadata: z.record(z.string(), z.string()),
  created_at: z.string(),
  expires_at: z.string().nullable().describe('When it is deleted or paused; null: never'),
})

const shown = ({ id, template, status, metadata, created_at, expires_at }: Sandbox) => ({
  id,
  template,
  status,
  metadata,
  created_at,
  expires_at,
})

/** Entries of one list. */
const MAX_LISTED = 100

export function sandboxTools(preview: PreviewAddress): readonly AnyTool[] {
  return [
    tool({
      name: 'create_sandbox',
      title: 'Create a sandbox',
      description:
        'Starts a Linux microVM of a template within a second, or from a snapshot. Delete it when you are done.',
      input: z.object({
        template: z.string().default('base').describe('Name of a template, see list_templates'),
        from_snapshot: z.uuid().optional().describe('Start from this snapshot instead'),
        ttl_seconds: z.int().min(1).max(86_400).default(3600).describe('Seconds until it is deleted'),
        metadata: z.record(z.string(), z.string()).optional().describe('Labels'),
        env: z.record(z.string(), z.string()).optional().describe('Environment variables of all commands'),
        internet: z.boolean().default(true).describe('Whether it may reach the internet'),
      }),
      output: shownSandbox,
      annotations: CHANGES,
      run: async ({ internet, from_snapshot: from, template, ...rest }, { api }) => {
        const json: z.input<typeof createSandboxBody> = {
          ...rest,
          ...(from === undefined ? { template } : { from_snapshot: from }),
          network: { egress: internet ? 'internet' : 'none' },
        }
        return shown(await api.read(sandboxSchema, { method: 'POST', url: '/v1/sandboxes', json }))
      },
    }),
    tool({
      name: 'list_sandboxes',
      title: 'List sandboxes',
      description: 'The newest 100 sandboxes of the workspace.',
      input: z.object({
        status: z.enum(['creating', 'running', 'paused', 'hibernated', 'failed']).optional(),
        template: z.string().optional(),
      }),
      output: z.object({ sandboxes: z.array(shownSandbox) }),
      annotations: READS,
      run: async ({ status, template }, { api }) => {
        const query = new URLSearchParams({ limit: String(MAX_LISTED) })
        if (status !== undefined) query.set('status', status)
        if (template !== undefined) query.set('template', template)
        const list = await api.read(z.array(sandboxSchema), { method: 'GET', url: `/v1/sandboxes?${query.toString()}` })
        return { sandboxes: list.map(shown) }
      },
    }),
    tool({
      name: 'delete_sandbox',
      title: 'Delete a sandbox',
      description: 'Ends a sandbox and deletes its disk. Snapshots of it stay.',
      input: z.object({ sandbox_id: sandboxId }),
      output: z.object({ deleted: z.string() }),
      annotations: REMOVES,
      run: async ({ sandbox_id: id }, { api }) => {
        await api.send({ method: 'DELETE', url: `/v1/sandboxes/${id}` })
        return { deleted: id }
      },
    }),
    tool({
      name: 'fork_sandbox',
      title: 'Fork a running sandbox',
      description:
        'Copies a running sandbox with its memory, processes and files in milliseconds, up to 16 times. The original goes on. ' +
        'Try different ideas in the copies, keep the best, delete the others.',
      input: z.object({ sandbox_id: sandboxId, count: z.int().min(1).max(16).default(2).describe('Number of copies') }),
      output: z.object({ parent_id: z.string(), children: z.array(shownSandbox), errors: z.array(z.string()) }),
      annotations: CHANGES,
      run: async ({ sandbox_id: id, count }, { api }) => {
        const url = `/v1/sandboxes/${id}/fork-tree`
        const tree = await api.read(forkTree, { method: 'POST', url, json: { count } })
        return {
          parent_id: tree.parent_id,
          children: tree.children.map(shown),
          errors: tree.errors.map(({ error }) => error),
        }
      },
    }),
    tool({
      name: 'snapshot_sandbox',
      title: 'Take a snapshot of a sandbox',
      description:
        'Keeps memory, processes and files of this instant. create_sandbox starts from it with from_snapshot.',
      input: z.object({ sandbox_id: sandboxId, name: z.string().min(1).max(128).optional() }),
      output: z.object({ snapshot_id: z.string(), name: z.string().nullable(), created_at: z.string() }),
      annotations: CHANGES,
      run: async ({ sandbox_id: id, name }, { api }) => {
        const json = name === undefined ? {} : { name }
        const made = await api.read(snapshotSchema, { method: 'POST', url: `/v1/sandboxes/${id}/snapshots`, json })
        return { snapshot_id: made.id, name: made.name, created_at: made.created_at }
      },
    }),
    tool({
      name: 'preview_url',
      title: 'Address of a port',
      description: 'The public address of a port at which a server listens in a sandbox. It wakes the sandbox.',
      input: z.object({ sandbox_id: sandboxId, port: z.int().min(1).max(65_535) }),
      output: z.object({ url: z.string() }),
      annotations: READS,
      run: async ({ sandbox_id: id, port }, { api }) => {
        const found = await api.read(sandboxSchema, { method: 'GET', url: `/v1/sandboxes/${id}` })
        return { url: previewUrl(preview, found.id, port) }
      },
    }),
    tool({
      name: 'list_templates',
      title: 'List templates',
      description: 'What sandboxes can be made of.',
      input: z.object({}),
      output: z.object({
        templates: z.array(z.object({ name: z.string(), description: z.string(), cpu: z.int(), memory_mb: z.int() })),
      }),
      annotations: READS,
      run: async (_args, { api }) => {
        const list = await api.read(z.array(templateSchema), { method: 'GET', url: '/v1/templates' })
        return {
          templates: list.map(({ name, cpu, memory_mb, meta }) => ({
            name,
            description: typeof meta['description'] === 'string' ? meta['description'] : '',
            cpu,
            memory_mb,
          })),
        }
      },
    }),
  ]
}

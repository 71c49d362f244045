import { app as appSchema } from '@offshoot/contract/app'
import { z } from 'zod'
import { type AnyTool, CHANGES, READS, REMOVES, RUNS, tool } from './tool.ts'

const database = z.object({ id: z.string(), label: z.string().nullable(), size: z.string(), status: z.string() })
const madeDatabase = database.extend({ connection_url: z.string().nullable() })
const deployment = z.object({ id: z.string(), status: z.string() })

/** Databases and apps. */
export const serviceTools: readonly AnyTool[] = [
  tool({
    name: 'create_database',
    title: 'Create a database',
    description: 'Makes a PostgreSQL 16 database in a VM of its own. It hibernates while nobody is connected.',
    input: z.object({ label: z.string().max(128).optional(), size: z.enum(['1g', '4g', '16g']).default('1g') }),
    output: madeDatabase,
    annotations: CHANGES,
    run: (json, { api }) => api.read(madeDatabase, { method: 'POST', url: '/v1/databases', json }),
  }),
  tool({
    name: 'list_databases',
    title: 'List databases',
    description: 'The databases of the workspace.',
    input: z.object({}),
    output: z.object({ databases: z.array(database) }),
    annotations: READS,
    run: async (_args, { api }) => ({
      databases: await api.read(z.array(database), { method: 'GET', url: '/v1/databases' }),
    }),
  }),
  tool({
    name: 'delete_database',
    title: 'Delete a database',
    description: 'Deletes a database with all its data and backups.',
    input: z.object({ database_id: z.uuid() }),
    output: z.object({ deleted: z.string() }),
    annotations: REMOVES,
    run: async ({ database_id: id }, { api }) => {
      await api.send({ method: 'DELETE', url: `/v1/databases/${id}` })
      return { deleted: id }
    },
  }),
  tool({
    name: 'list_apps',
    title: 'List apps',
    description: 'The apps of the workspace, which serve git repositories.',
    input: z.object({}),
    output: z.object({
      apps: z.array(appSchema.pick({ id: true, name: true, git_url: true, git_branch: true, url: true, status: true })),
    }),
    annotations: READS,
    run: async (_args, { api }) => ({ apps: await api.read(z.array(appSchema), { method: 'GET', url: '/v1/apps' }) }),
  }),
  tool({
    name: 'deploy_app',
    title: 'Deploy an app',
    description: 'Builds the newest commit of the branch of an app, and serves it when it is healthy.',
    input: z.object({ app_id: z.uuid() }),
    output: z.object({ deployment_id: z.string(), status: z.string() }),
    annotations: RUNS,
    run: async ({ app_id: id }, { api }) => {
      const made = await api.read(deployment, { method: 'POST', url: `/v1/apps/${id}/deploys` })
      return { deployment_id: made.id, status: made.status }
    },
  }),
]

import type { AppDomain, AppInfo, DeploymentInfo, Offshoot, PreviewLink } from '@offshoot/sdk'
import { queryOptions } from '@tanstack/react-query'

/** Entries of one request: the most that the service sends. */
const PAGE = 1000

/** Newest first, without previews of pull requests. */
export const appsQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['app', 'list', 'apps'],
    queryFn: async ({ signal }): Promise<readonly AppInfo[]> =>
      (await api.apps.list({ limit: PAGE, signal }).all()).map(({ info }) => info),
  })

export const appQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['app', id],
    queryFn: async ({ signal }) => (await api.apps.get(id, { signal })).info,
  })

/** Newest first. */
export const deploymentsQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['deployment', 'list', id],
    queryFn: async ({ signal }): Promise<readonly DeploymentInfo[]> => {
      const app = await api.apps.get(id, { signal })
      return (await app.deployments({ limit: PAGE, signal }).all()).map(({ info }) => info)
    },
  })

export const deploymentQuery = (api: Offshoot, id: string, deployment: string) =>
  queryOptions({
    queryKey: ['deployment', deployment],
    queryFn: async ({ signal }) =>
      (await (await api.apps.get(id, { signal })).getDeployment(deployment, { signal })).info,
  })

/** Oldest first. */
export const domainsQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['domain', 'list', id],
    queryFn: async ({ signal }): Promise<readonly AppDomain[]> =>
      (await api.apps.get(id, { signal })).domains.list({ signal }).all(),
  })

export const previewsQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['app', 'list', 'previews', id],
    queryFn: async ({ signal }): Promise<readonly AppInfo[]> => {
      const app = await api.apps.get(id, { signal })
      return (await app.previews({ signal }).all()).map(({ info }) => info)
    },
  })

export const linksQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['app', id, 'links'],
    queryFn: async ({ signal }): Promise<readonly PreviewLink[]> =>
      (await api.apps.get(id, { signal })).links.list({ signal }).all(),
  })

/** The git provider may not be configured, which the service says with a refusal. */
export const repositoriesQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['git repositories'],
    queryFn: async ({ signal }) => {
      const installations = await api.list('GET /v1/gitprovider/installations', { signal }).all()
      const ofEach = installations.map(async ({ installation_id: id }) =>
        api.request('GET /v1/gitprovider/repos', { query: { installation_id: String(id) }, signal }),
      )
      return (await Promise.all(ofEach)).flat()
    },
  })

const HAS_ENDED: ReadonlySet<DeploymentInfo['status']> = new Set(['live', 'failed', 'superseded'])

export const hasEnded = ({ status }: Pick<DeploymentInfo, 'status'>): boolean => HAS_ENDED.has(status)

/** A version that was superseded while it waited was never live, and cannot be rolled back to. */
export const canRollBackTo = ({ status, startedAt }: Pick<DeploymentInfo, 'status' | 'startedAt'>): boolean =>
  status === 'superseded' && startedAt !== null

/** The first characters of a commit, as git shows it. */
export const shortCommit = (commit: string | null): string => commit?.slice(0, 8) ?? ''

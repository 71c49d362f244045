import type { Offshoot, RouteAnswer } from '@offshoot/sdk'
import { queryOptions } from '@tanstack/react-query'

export type Host = RouteAnswer<'GET /v1/admin/hosts'>[number]

/** Milliseconds between two looks at hosts that are joining, or whose sandboxes move. */
const CHANGING_MS = 2_000
/** Milliseconds between two looks at the VMs of a host that operators empty. */
const EMPTYING_MS = 5_000

const isChanging = ({ state }: Pick<Host, 'state'>) => state === 'joining' || state === 'draining'

/* Nothing reports changes of hosts, so each visit of a page reads them again. */

export const hostsQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['operator', 'hosts'],
    queryFn: async ({ signal }) => api.list('GET /v1/admin/hosts', { signal }).all(),
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (data?.some(isChanging) === true ? CHANGING_MS : false),
  })

export const hostQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['operator', 'hosts', id],
    queryFn: async ({ signal }) => api.request('GET /v1/admin/hosts/{id}', { path: { id }, signal }),
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (data && isChanging(data) ? CHANGING_MS : false),
  })

export const diskQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['operator', 'disk', id],
    queryFn: async ({ signal }) => api.request('GET /v1/hosts/{id}/disk', { path: { id }, signal }),
    staleTime: 0,
  })

export const quarantineQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['operator', 'quarantine', id],
    queryFn: async ({ signal }) => api.list('GET /v1/hosts/{id}/quarantine', { path: { id }, signal }).all(),
    staleTime: 0,
  })

export const reconcileQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['operator', 'reconcile', id],
    queryFn: async ({ signal }) => api.request('GET /v1/admin/hosts/{id}/reconcile', { path: { id }, signal }),
    staleTime: 0,
  })

export const metricsQuery = (api: Offshoot, { cordoned_at: cordonedAt }: Host) =>
  queryOptions({
    queryKey: ['operator', 'metrics'],
    queryFn: async ({ signal }) => (await api.fetch('GET /v1/admin/metrics', { signal })).text(),
    staleTime: 0,
    refetchInterval: cordonedAt === null ? false : EMPTYING_MS,
  })

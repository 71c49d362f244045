import type { Offshoot } from '@offshoot/sdk'
import { queryOptions } from '@tanstack/react-query'

export const webhooksQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['webhook', 'list'],
    queryFn: async ({ signal }) => (await api.webhooks.list({ signal }).all()).map(({ info }) => info),
  })

export const webhookQuery = (api: Offshoot, id: string) =>
  queryOptions({
    queryKey: ['webhook', id],
    queryFn: async ({ signal }) => (await api.webhooks.get(id, { signal })).info,
  })

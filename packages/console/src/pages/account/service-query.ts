import { Offshoot } from '@offshoot/sdk'
import { queryOptions } from '@tanstack/react-query'

/** What the service offers. It takes no credential, so the client has one that opens nothing. */
export const serviceQuery = queryOptions({
  queryKey: ['service'],
  queryFn: async ({ signal }) =>
    new Offshoot({ baseUrl: location.origin, apiKey: 'none' }).request('GET /v1/service', { signal }),
})

import type { Offshoot, Sandbox } from '@offshoot/sdk'
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { useApi } from '../../session/session.tsx'

/** Never read again: only its functions are used. `sandboxQuery` has what changes. */
const handleQuery = (api: Offshoot, id: string) =>
  queryOptions({ queryKey: ['sandbox-handle', id], queryFn: async ({ signal }) => api.sandboxes.get(id, { signal }) })

/** The functions of a sandbox. */
export function useSandboxHandle(id: string): Sandbox {
  return useSuspenseQuery(handleQuery(useApi(), id)).data
}

import type { Sandbox } from '@offshoot/sdk'
import { queryOptions } from '@tanstack/react-query'

/** The API reports no starts and ends of commands, so the list is read again after actions and when the page gets the focus. */
export const execsQuery = (sandbox: Sandbox) =>
  queryOptions({
    queryKey: ['execs', sandbox.id],
    queryFn: async ({ signal }) => sandbox.commands.list({ signal }),
    staleTime: 0,
    refetchOnWindowFocus: true,
  })

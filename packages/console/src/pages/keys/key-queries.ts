import type { Offshoot } from '@offshoot/sdk'
import { queryOptions } from '@tanstack/react-query'

/** API keys of the workspace: all of them for those who manage keys, otherwise the user's own. */
export const keysQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['key', 'list'],
    queryFn: async ({ signal }) => api.keys.list({ signal }).all(),
  })

export const sshKeysQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['ssh_key', 'list'],
    queryFn: async ({ signal }) => api.ssh.keys({ signal }).all(),
  })

export const sshGatewayQuery = (api: Offshoot) =>
  queryOptions({
    queryKey: ['ssh-gateway'],
    queryFn: async ({ signal }) => api.ssh.gateway({ signal }),
  })

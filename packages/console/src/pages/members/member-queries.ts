import { queryOptions, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { type Session, useSession } from '../../session/session.tsx'

type Inside = Pick<Session, 'api' | 'workspace'>

export const membersQuery = ({ api, workspace }: Inside) =>
  queryOptions({
    queryKey: ['member', 'list'],
    queryFn: async ({ signal }) => api.workspaces.members(workspace.id, { signal }).all(),
  })

/** Takes the permission `members:manage`. */
export const invitationsQuery = ({ api, workspace }: Inside) =>
  queryOptions({
    queryKey: ['invitation', 'list'],
    queryFn: async ({ signal }) => api.workspaces.invitations(workspace.id, { signal }).all(),
  })

/** Names of users by their ids. Until they are known, and for those who left, the beginning of the id. */
export function useMemberNames(): (userId: string | null) => string {
  const { data } = useQuery(membersQuery(useSession()))
  const names = useMemo(() => new Map(data?.map(({ userId, name, email }) => [userId, name || email])), [data])
  return useCallback(
    (userId) => (userId === null ? 'a deleted account' : (names.get(userId) ?? userId.slice(0, 8))),
    [names],
  )
}

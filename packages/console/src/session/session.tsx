import { AuthenticationError, type Me, Offshoot, type WorkspaceSummary } from '@offshoot/sdk'
import { queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { dropToken, freshToken } from './token.ts'

/** The service and the user, for the pages of a workspace. */
export interface Session {
  /** Acts in {@link Session.workspace}. */
  readonly api: Offshoot
  readonly me: Me
  readonly workspace: WorkspaceSummary
  /** Whether the user's role in the workspace allows it. The service decides again with every request. */
  readonly can: (permission: Permission) => boolean
  readonly choose: (workspaceId: string) => void
}

/** What not every member may do. */
export type Permission = Me['permissions'][number]

/** Each tab remembers the workspace that its user chose there. */
export const CHOSEN_WORKSPACE = 'offshoot-workspace'

/** Requests of the pages are not repeated by the SDK alone: what is shown has a button to try again. */
const REQUEST_TIMEOUT_MS = 60_000

const baseUrl = location.origin

/** A token can end earlier than it says, with its session. It is then replaced once. */
const fetchWithToken: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  if (response.status !== 401) return response
  dropToken()
  const headers = new Headers(init?.headers)
  headers.set('authorization', `Bearer ${await freshToken()}`)
  return fetch(input, { ...init, headers })
}

function clientFor(org: string | undefined): Offshoot {
  return new Offshoot({
    baseUrl,
    jwt: freshToken,
    timeoutMs: REQUEST_TIMEOUT_MS,
    fetch: fetchWithToken,
    ...(org !== undefined && { org }),
  })
}

async function readMe(): Promise<Me> {
  const chosen = sessionStorage.getItem(CHOSEN_WORKSPACE) ?? undefined
  try {
    return await clientFor(chosen).me()
  } catch (error) {
    if (chosen === undefined || !(error instanceof AuthenticationError || isGone(error))) throw error
    // The user left the workspace.
    sessionStorage.removeItem(CHOSEN_WORKSPACE)
    return clientFor(undefined).me()
  }
}

const isGone = (error: unknown) => (error as { status?: number }).status === 404

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: readMe })

const Context = createContext<Session | null>(null)

/** Suspends until the user is known. */
export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const { data: me } = useSuspenseQuery(meQuery)
  const queries = useQueryClient()
  const session = useMemo<Session>(() => {
    const { org: workspace } = me
    return {
      api: clientFor(workspace.id),
      me,
      workspace,
      can: (permission) => me.permissions.includes(permission),
      choose: (workspaceId) => {
        sessionStorage.setItem(CHOSEN_WORKSPACE, workspaceId)
        queries.clear()
        // Everything that a page holds belongs to the other workspace.
        location.assign('/')
      },
    }
  }, [me, queries])
  return <Context value={session}>{children}</Context>
}

export function useSession(): Session {
  const session = useContext(Context)
  if (session === null) throw new Error('used outside of SessionProvider')
  return session
}

/** The service, as the signed-in user in the chosen workspace. */
export function useApi(): Offshoot {
  return useSession().api
}

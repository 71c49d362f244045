import { queryOptions } from '@tanstack/react-query'
import { authQuery } from '../../session/token.ts'

interface Account {
  readonly user: {
    readonly name: string
    readonly email: string
    readonly emailVerified: boolean
    readonly twoFactorEnabled?: boolean | null
  }
}

/** What `/v1/me` does not tell of the user. */
export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: async () => (await authQuery<Account>('get-session')).user,
})

export interface Passkey {
  readonly id: string
  readonly name?: string | null
  readonly createdAt: string
}

export const passkeysQuery = queryOptions({
  queryKey: ['account', 'passkeys'],
  queryFn: async () => authQuery<readonly Passkey[]>('passkey/list-user-passkeys'),
})

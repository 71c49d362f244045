import type { FleetContext } from '../../fleet/fleet-context.ts'
import type { Accounts } from './identity/accounts.ts'
import type { FailedAttempts } from './identity/failed-attempts.ts'
import type { JwtVerifier } from './identity/jwt-verifier.ts'
import type { KnownKeys } from './identity/known-keys.ts'
import type { OperatorKeys } from './operators/operator-keys.ts'

export interface OrgsContext extends FleetContext {
  readonly accounts: Accounts
  readonly jwt: JwtVerifier
  readonly keys: KnownKeys
  readonly failures: FailedAttempts
  readonly operatorKeys: OperatorKeys
}

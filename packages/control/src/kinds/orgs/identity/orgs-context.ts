import type { FleetContext } from '../../../fleet/fleet-context.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { Accounts } from './accounts.ts'
import type { FailedAttempts } from './failed-attempts.ts'
import type { JwtVerifier } from './jwt-verifier.ts'
import type { ApiKeyCache } from './api-key-cache.ts'
import type { OperatorKeys } from './operator-keys.ts'
import type { SshServiceKeys } from './ssh-service-keys.ts'

export interface OrgsContext extends FleetContext {
  readonly accounts: Accounts
  readonly jwt: JwtVerifier
  readonly keys: ApiKeyCache
  readonly failures: FailedAttempts
  readonly operatorKeys: OperatorKeys
  readonly sshKeys: SshServiceKeys
  readonly changeFeed: ChangeFeed
}

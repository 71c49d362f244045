import type { ControlConfig } from '@offshoot/contract/process-config'
import type { Logger } from 'pino'
import type { Database } from './db/database.ts'
import type { Notifications } from './db/notifications.ts'
import type { ProcessLock } from './db/process-lock.ts'
import type { Metrics } from './http/metrics.ts'
import type { OpenStreams } from './http/open-streams.ts'
import type { RateLimiter } from './limits/rate-limiter.ts'
import type { Outbox } from './mail/outbox.ts'
import type { Keyring } from './secrets/keyring.ts'
import type { Seal } from './secrets/seal.ts'

/**
 * The services of a control process that are independent of every resource kind. Each layer above adds its own
 * (`*-context.ts`).
 */
export interface Platform {
  readonly config: ControlConfig
  readonly log: Logger
  readonly database: Database
  readonly notifications: Notifications
  readonly lock: ProcessLock
  readonly outbox: Outbox
  readonly metrics: Metrics
  readonly rate: RateLimiter
  /** Long-lived responses. Control ends them when the process stops. */
  readonly openStreams: OpenStreams
  /** Aborts when the process stops. Running work is then left to another process. */
  readonly stopping: AbortSignal
  readonly keyring: Keyring
  /** Encrypts the stored responses of idempotent requests. */
  readonly answers: Seal
}

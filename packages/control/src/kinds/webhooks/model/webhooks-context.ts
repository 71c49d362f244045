import type { Seal } from '../../../platform/secrets/seal.ts'
import type { AppsContext } from '../../apps/model/apps-context.ts'

export interface WebhooksContext extends AppsContext {
  /** Encrypts the secrets of webhooks. */
  readonly webhookSecrets: Seal
}

import type { E2bConfig } from '@offshoot/contract/process-config'
import type { Logger } from 'pino'
import type { ControlClient } from '../control/control-client.ts'
import type { SandboxAccess } from './sandbox-access.ts'

export interface GatewayContext {
  readonly config: E2bConfig
  readonly control: ControlClient
  readonly access: SandboxAccess
  readonly log: Logger
}

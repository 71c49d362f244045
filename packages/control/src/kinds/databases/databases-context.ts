import type { Seal } from '../../platform/secrets/seal.ts'
import type { SandboxesContext } from '../sandboxes/model/sandboxes-context.ts'
import type { Broker } from './broker/broker.ts'
import type { Connections } from './broker/connections.ts'

export interface DatabasesContext extends SandboxesContext {
  /** Encrypts the credentials of databases. */
  readonly databaseSecrets: Seal
  /** Connections to the tenants' databases. */
  readonly brokerConnections: Connections
  readonly broker: Broker
}

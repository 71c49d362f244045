import type { Seal } from '../../platform/secrets/seal.ts'
import type { Broker } from './broker/broker.ts'
import type { Connections } from './broker/connections.ts'
import type { ArchivesContext } from './stored-archives/stored-segments.ts'

export interface DatabasesContext extends ArchivesContext {
  /** Encrypts the credentials of databases. */
  readonly databaseSecrets: Seal
  /** Connections to the tenants' databases. */
  readonly brokerConnections: Connections
  readonly broker: Broker
}

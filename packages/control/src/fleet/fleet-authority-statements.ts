import { statement } from '../platform/db/statement.ts'

export const fleetAuthority = statement<{ certificate: string; key: Buffer }, []>(
  'fleet-authority',
  'select certificate, key from fleet_authority',
)

/** Another process may have made the authority meanwhile: then its authority stays. */
export const insertFleetAuthority = statement<never, [certificate: string, key: Buffer]>(
  'insert-fleet-authority',
  'insert into fleet_authority (certificate, key) values ($1, $2) on conflict (is_only) do nothing',
)

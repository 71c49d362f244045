import type { FleetContext } from '../fleet-context.ts'
import type { OpenStreams } from '../../platform/http/open-streams.ts'

/** What every forwarded request needs. */
export interface ProxyContext {
  readonly control: FleetContext
  readonly openStreams: OpenStreams
}

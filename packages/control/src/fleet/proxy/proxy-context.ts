import type { Control } from '../../control.ts'
import type { OpenStreams } from '../../platform/http/open-streams.ts'

/** What every forwarded request works with. */
export interface ProxyContext {
  readonly control: Control
  readonly openStreams: OpenStreams
}

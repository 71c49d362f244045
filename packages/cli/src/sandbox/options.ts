import type { Option } from '../frame/command.ts'
import { duration, oneOf } from '../frame/values.ts'

const VISIBILITIES = ['public', 'private']

/** How long a sandbox lives. */
export const lifetime: readonly Option[] = [
  {
    flags: '--ttl <duration>',
    about: 'time to live, as in 90s, 15m, 2h, 7d; default: 1h',
    parse: duration('--ttl'),
  },
  {
    flags: '--on-timeout <what>',
    about: 'delete or pause; default: delete',
    parse: oneOf('--on-timeout', ['delete', 'pause']),
    words: ['delete', 'pause'],
  },
  { flags: '--persistent', about: 'no time to live; hibernates when idle' },
  {
    flags: '--idle-timeout <duration>',
    about: 'idle time before a persistent one hibernates',
    parse: duration('--idle-timeout'),
  },
]

export const visibility: Option = {
  flags: '--visibility <who>',
  about: 'who may open its ports: public or private; default: public',
  parse: oneOf('--visibility', VISIBILITIES),
  words: VISIBILITIES,
}

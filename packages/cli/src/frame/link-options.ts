import type { Option } from './command.ts'
import { duration } from './values.ts'

/** Options of the commands that make a link to a private preview. */
export const LINK_OPTIONS: readonly Option[] = [
  { flags: '--expires <duration>', about: 'as in 30m, 12h, 7d; default: 1d', parse: duration('--expires') },
  { flags: '--label <text>', about: 'what the link is for' },
]

/** Options of the commands that list such links. */
export const LINKS_OPTIONS: readonly Option[] = [
  { flags: '--rm <link>', about: 'revoke a link, by its id, the beginning of it, or its label' },
]

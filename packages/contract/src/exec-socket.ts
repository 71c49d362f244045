import { z } from 'zod'
import { optional, text } from './fields.ts'
import { signalName } from './signal.ts'

/** Bytes of one frame that a caller sends; a greater one is answered with an error. */
export const MAX_FRAME_BYTES = 1024 * 1024
/** Commands that one socket holds at once. */
export const MAX_SOCKET_COMMANDS = 128
const MAX_ID_CHARS = 128

/** Must be there and `true`: what it asks for cannot be taken back. */
const yes = (name: string) => z.literal(true, { error: `${name} must be true` }).nullish()

/** What every frame has. */
export const frameId = z
  .string({ error: ({ input }) => (input === undefined ? 'id required' : 'id must be a string') })
  .min(1, 'id required')
  .max(MAX_ID_CHARS, `id must be at most ${MAX_ID_CHARS} characters`)

/** A frame about a command that runs: any of these, in this order. */
export const commandFrame = z.object({
  stdin: optional(text('stdin', MAX_FRAME_BYTES)),
  stdin_eof: yes('stdin_eof'),
  signal: optional(signalName),
  /** SIGKILL to its process group. */
  cancel: yes('cancel'),
})
export type CommandFrame = z.infer<typeof commandFrame>

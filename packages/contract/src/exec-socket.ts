import { z } from 'zod'
import { optional, text } from './fields.ts'
import { signalName } from './signal.ts'

/** Maximum bytes of a frame from the client; a larger one is answered with an error. */
export const MAX_FRAME_BYTES = 1024 * 1024
/** Maximum concurrent commands per socket. */
export const MAX_SOCKET_COMMANDS = 128
const MAX_ID_CHARS = 128

/** The field must be `true` if present: there is no opposite action. */
const yes = (name: string) => z.literal(true, { error: `${name} must be true` }).nullish()

/** The `id` field of every frame. */
export const frameId = z
  .string({ error: ({ input }) => (input === undefined ? 'id required' : 'id must be a string') })
  .min(1, 'id required')
  .max(MAX_ID_CHARS, `id must be at most ${MAX_ID_CHARS} characters`)

/** A frame about a running command. The agent applies its fields in this order. */
export const commandFrame = z.object({
  stdin: optional(text('stdin', MAX_FRAME_BYTES)),
  stdin_eof: yes('stdin_eof'),
  signal: optional(signalName),
  /** Sends SIGKILL to the process group. */
  cancel: yes('cancel'),
})
export type CommandFrame = z.infer<typeof commandFrame>

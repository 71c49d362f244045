import { z } from 'zod'

/** In a create: names this attempt to make the sandbox, for {@link deleteOnAgentQuery}. */
export const attemptId = z.uuid().optional()

/**
 * Query of the agent's `DELETE /v1/sandboxes/{id}`. With `attempt_id`, only what that attempt has made is deleted: 409 for
 * a sandbox of another attempt. Then a late delete of a failed attempt removes nothing that a later one has made. A create of this
 * attempt that is still under way, or comes later, is refused with 409.
 */
export const deleteOnAgentQuery = z.object({ attempt_id: attemptId })

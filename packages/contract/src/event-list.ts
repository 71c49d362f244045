import { event } from './event.ts'
import { isUuid } from './ids.ts'
import { once, pageQuery, queryTime } from './page.ts'

const types = event.shape.type.options

/**
 * Query of `GET /v1/events`: a workspace's events of the last 90 days, newest first, including those of deleted
 * sandboxes.
 */
export const eventListQuery = pageQuery.extend({
  /** One type, or several separated by commas. */
  type: once('type')
    .transform((text) => text.split(','))
    .refine(
      (names) => names.every((name) => (types as readonly string[]).includes(name)),
      `type must be among ${types.join(', ')}`,
    )
    .optional(),
  sandbox_id: once('sandbox_id').refine(isUuid, 'sandbox_id must be a UUID').optional(),
  /** RFC 3339. Events at or after this time. */
  from: queryTime('from'),
  /** RFC 3339. Events before this time. */
  to: queryTime('to'),
})

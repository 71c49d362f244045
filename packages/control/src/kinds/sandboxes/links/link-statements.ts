import { MAX_PREVIEW_LINKS } from '@offshoot/contract/preview-link'
import { statement } from '../../../platform/db/statement.ts'
import { LINK_COLUMNS, type LinkRow } from './link-row.ts'

/** The links of a port of a sandbox, or of an app. Its parameters are `sandboxId`, `port` and `appId`. */
const OF_SUBJECT = (first: number) =>
  `sandbox_id is not distinct from $${first}::uuid and port is not distinct from $${first + 1}::integer
   and app_id is not distinct from $${first + 2}::uuid`

/** Call it after a lock of the sandbox or app, in the same transaction. No row: there are too many links. */
export const insertLink = statement<
  LinkRow,
  [
    sandboxId: string | null,
    port: number | null,
    appId: string | null,
    workspaceId: string,
    tokenHash: Buffer,
    label: string | null,
    seconds: number,
  ]
>(
  'insert-preview-link',
  `insert into preview_links (sandbox_id, port, app_id, workspace_id, token_hash, label, expires_at)
   select $1::uuid, $2::integer, $3::uuid, $4::uuid, $5::bytea, $6, now() + make_interval(secs => $7)
   where (select count(*) from preview_links where ${OF_SUBJECT(1)} and expires_at > now()) < ${MAX_PREVIEW_LINKS}
   returning ${LINK_COLUMNS}`,
)

/** No row: there is no such link. */
export const removeLink = statement<
  { id: string },
  [sandboxId: string | null, port: number | null, appId: string | null, id: string]
>('remove-preview-link', `delete from preview_links where ${OF_SUBJECT(1)} and id = $4 returning id`)

/** The unexpired link with this token, if it opens the subject. */
export const linkOfToken = statement<
  LinkRow,
  [sandboxId: string | null, port: number | null, appId: string | null, tokenHash: Buffer]
>(
  'preview-link-of-token',
  `select ${LINK_COLUMNS} from preview_links where ${OF_SUBJECT(1)} and token_hash = $4 and expires_at > now()`,
)

/** The unexpired link with this id, if it opens the subject. */
export const openLink = statement<
  { id: string },
  [sandboxId: string | null, port: number | null, appId: string | null, id: string]
>('open-preview-link', `select id from preview_links where ${OF_SUBJECT(1)} and id = $4 and expires_at > now()`)

export const removeOldLinks = statement<never, []>(
  'remove-old-preview-links',
  'delete from preview_links where expires_at < now()',
)

import { ApiError } from '@offshoot/contract/errors'
import { isUuid, type WorkspaceId } from '@offshoot/contract/ids'
import { PREVIEW_TOKEN_QUERY } from '@offshoot/contract/preview-access'
import {
  type CreatedPreviewLink,
  DEFAULT_LINK_SECONDS,
  MAX_PREVIEW_LINKS,
  type PreviewLink,
  type PreviewLinkBody,
  previewLinkListQuery,
} from '@offshoot/contract/preview-link'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import type { Queryable } from '../../../platform/db/statement.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { createdBetween, listPage, newestFirst } from '../../../platform/http/page-of.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { LINK_COLUMNS, type LinkRow, type LinkSubject, presentLink } from './link-row.ts'
import { insertLink, removeLink } from './link-statements.ts'
import { mintLinkToken } from './link-token.ts'

const ORDER = newestFirst('preview-links', 'preview_links')

interface NewLink {
  readonly subject: LinkSubject
  readonly workspaceId: WorkspaceId
  readonly body: PreviewLinkBody
  /** Address of the preview, without a path. */
  readonly address: string
  /** Makes concurrent creates count one after the other. No row: the sandbox or app is gone. */
  readonly lock: (on: Queryable) => Promise<readonly unknown[]>
}

/** @throws ApiError 404, 429 */
export async function createLink(
  { database }: SandboxesContext,
  { subject: { sandboxId, port, appId }, workspaceId, body, address, lock }: NewLink,
): Promise<CreatedPreviewLink> {
  const { expires_in_seconds: seconds = DEFAULT_LINK_SECONDS, label = null } = body
  const { token, hash } = mintLinkToken()
  const row = await transaction(database.pool, async (client) => {
    if ((await lock(client)).length === 0) throw new ApiError('notFound')
    const [inserted] = await insertLink(client, sandboxId, port, appId, workspaceId, hash, label, seconds)
    if (inserted === undefined) throw new ApiError('tooManyLinks', { max: MAX_PREVIEW_LINKS })
    return inserted
  })
  return { ...presentLink(row), url: `${address}/?${PREVIEW_TOKEN_QUERY}=${token}`, token }
}

/** The unexpired links, newest first. */
export async function listLinks(
  control: SandboxesContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { sandboxId, port, appId }: LinkSubject,
): Promise<PreviewLink[]> {
  const query = parseWith(previewLinkListQuery, request.query)
  const rows = await listPage<LinkRow>(control, request, reply, {
    order: ORDER,
    owner: appId ?? `${sandboxId}:${port}`,
    select: `select ${LINK_COLUMNS} from preview_links`,
    where: [
      appId === null ? sql`sandbox_id = ${sandboxId} and port = ${port}` : sql`app_id = ${appId}`,
      sql`expires_at > now()`,
      ...createdBetween('created_at', query),
    ],
    query,
  })
  return rows.map(presentLink)
}

/** Revokes a link. Edges refuse it within about a second. @throws ApiError 404 */
export async function deleteLink(
  { database }: SandboxesContext,
  { sandboxId, port, appId }: LinkSubject,
  id: string,
): Promise<void> {
  const [removed] = isUuid(id) ? await removeLink(database.pool, sandboxId, port, appId, id) : []
  if (removed === undefined) throw new ApiError('notFound')
}

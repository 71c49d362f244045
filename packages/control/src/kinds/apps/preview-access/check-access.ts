import { LINK_TOKEN, type PreviewCheck, type PreviewSubject } from '@offshoot/contract/preview-access'
import type { LinkSubject } from '../../sandboxes/links/link-row.ts'
import { linkOfToken, openLink } from '../../sandboxes/links/link-statements.ts'
import { linkTokenHash } from '../../sandboxes/links/link-token.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { memberInSession, type OwnerRow, ownerOfPreviewApp, ownerOfPreviewSandbox } from './access-statements.ts'

/** Whether the credential opens the subject now. */
export async function isAdmitted(
  control: AppsContext,
  { origin, subject, credential }: PreviewCheck,
): Promise<boolean> {
  if (credential.startsWith(LINK_TOKEN)) return (await linkOf(control, subject, credential)) !== undefined
  if (credential.startsWith('ofs_')) return opensWithKey(control, subject, credential)
  const holder = await control.previewPasses.verify(origin, credential)
  if (holder === null) return false
  if ('link' in holder) return isOpen(control, subject, holder.link)
  return isMember(control, subject, holder.user, holder.session)
}

/** The link with this token, if it opens the subject. */
export async function linkOf({ database }: AppsContext, subject: PreviewSubject, token: string) {
  const { sandboxId, port, appId } = linkSubject(subject)
  const hash = linkTokenHash(token)
  const [link] = hash === null ? [] : await linkOfToken(database.pool, sandboxId, port, appId, hash)
  return link
}

/** Whether the user is a member of the subject's workspace, in a session that has not ended. */
export async function isMember(
  control: AppsContext,
  subject: PreviewSubject,
  userId: string,
  sessionId: string,
): Promise<boolean> {
  const owner = await ownerOf(control, subject)
  if (owner === null) return false
  const [member] = await memberInSession(control.database.pool, userId, sessionId, owner.workspace_id)
  return member !== undefined
}

async function isOpen({ database }: AppsContext, subject: PreviewSubject, linkId: string): Promise<boolean> {
  const { sandboxId, port, appId } = linkSubject(subject)
  const [link] = await openLink(database.pool, sandboxId, port, appId, linkId)
  return link !== undefined
}

/** A key with scopes needs to be able to read the sandbox or app, and the feature that owns the sandbox. */
async function opensWithKey(control: AppsContext, subject: PreviewSubject, token: string): Promise<boolean> {
  const key = await control.keys.find(token)
  const owner = key === null ? null : await ownerOf(control, subject)
  if (key === null || owner === null || key.workspaceId !== owner.workspace_id) return false
  const { scopes } = key
  if (scopes === null) return true
  if ('app_id' in subject) return scopes.includes('apps:read')
  const mayOpen =
    owner.managed_by === null || scopes.includes(owner.managed_by === 'app' ? 'apps:read' : 'databases:read')
  return mayOpen && scopes.includes('sandboxes:read')
}

async function ownerOf({ database }: AppsContext, subject: PreviewSubject): Promise<OwnerRow | null> {
  if ('app_id' in subject) {
    const [app] = await ownerOfPreviewApp(database.pool, subject.app_id)
    return app === undefined ? null : { ...app, managed_by: null }
  }
  const [sandbox] = await ownerOfPreviewSandbox(database.pool, subject.sandbox_id)
  return sandbox ?? null
}

function linkSubject(subject: PreviewSubject): LinkSubject {
  return 'app_id' in subject
    ? { sandboxId: null, port: null, appId: subject.app_id }
    : { sandboxId: subject.sandbox_id, port: subject.port, appId: null }
}

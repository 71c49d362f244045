import { randomUUID } from 'node:crypto'
import type { Queryable } from '../../../platform/db/statement.ts'
import { lockApp } from '../model/deployment-statements.ts'
import { queueIn } from '../deployments/queue-deployment.ts'
import { appsWithPreviews } from './git-provider-statements.ts'
import { type PullRequestEvent, wantedOf } from './pull-request-event.ts'
import { isOfRepository } from './push-event.ts'
import { markPreviewsDeleted, notePull, upsertPreview } from '../previews/preview-statements.ts'

/** For each app with previews of that repository, deploys exactly the pull request's commit, or removes the preview. */
export async function followPullRequest(client: Queryable, event: PullRequestEvent): Promise<void> {
  const wanted = wantedOf(event)
  if (wanted === 'nothing') return
  const { number, pull_request: pull, repository, installation } = event
  for (const { id, git_url: url } of await appsWithPreviews(client, installation.id)) {
    if (!isOfRepository(repository, url)) continue
    const [locked] = await lockApp(client, id)
    const [noted] = locked === undefined ? [] : await notePull(client, id, number, new Date(pull.updated_at))
    if (noted === undefined) continue
    if (wanted === 'remove') {
      await markPreviewsDeleted(client, id, number)
      continue
    }
    const [preview] = await upsertPreview(client, id, randomUUID(), number, pull.head.ref)
    if (preview === undefined) continue
    await queueIn(client, preview, { gitRef: pull.head.ref, gitCommit: pull.head.sha, originId: null })
  }
}

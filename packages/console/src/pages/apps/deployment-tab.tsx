import type { DeploymentInfo } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { CircleStop } from 'lucide-react'
import { useCallback, useEffect } from 'react'
import { useApi } from '../../session/session.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { type LogEntry, LogView } from '../../ui/log-view.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { useFollowed } from '../../ui/use-followed.ts'
import { deploymentQuery, hasEnded, shortCommit } from './app-queries.ts'

const route = getRouteApi('/member/apps/$id/deployments/$deployment')

/** One deployment with its log as it is written. */
export function DeploymentTab() {
  const { id, deployment } = route.useParams()
  const query = useQuery(deploymentQuery(useApi(), id, deployment))
  return <QueryView query={query}>{(info) => <Shown key={deployment} deployment={info} />}</QueryView>
}

function Shown({ deployment }: { readonly deployment: DeploymentInfo }) {
  const api = useApi()
  const tell = useTell()
  const queries = useQueryClient()
  const { id, appId, status, gitRef, gitCommit, error } = deployment
  const open = useCallback(
    async function* (signal: AbortSignal): AsyncGenerator<LogEntry> {
      const followed = await (await api.apps.get(appId, { signal })).getDeployment(id, { signal })
      for await (const text of followed.followLogs({ signal })) yield { text }
    },
    [api, appId, id],
  )
  const log = useFollowed(open)
  const { isOver } = log
  useEffect(() => {
    if (!isOver) return
    void queries.invalidateQueries({ queryKey: ['deployment'] })
    void queries.invalidateQueries({ queryKey: ['app', appId] })
  }, [isOver, queries, appId])
  const cancel = async () => {
    await (await (await api.apps.get(appId)).getDeployment(id)).cancel()
    await queries.invalidateQueries({ queryKey: ['deployment'] })
  }
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-3">
        <Link to="/apps/$id" params={{ id: appId }}>
          All deployments
        </Link>
        <StatusBadge status={status} />
        <span className="plaintext">
          {gitRef.slice(0, 60)} <span className="font-mono text-xs">{shortCommit(gitCommit)}</span>
        </span>
        {!hasEnded(deployment) && (
          <Button
            small
            icon={<CircleStop size={14} aria-hidden />}
            onClick={() => void tell.whether(cancel(), 'The deployment is cancelled')}
          >
            Cancel
          </Button>
        )}
      </div>
      {error !== null && (
        <p role="alert" className="plaintext rounded-md bg-bad-soft px-3 py-2 whitespace-pre-wrap text-bad">
          {error}
        </p>
      )}
      <LogView label="Build log" log={log} empty="The deployment has written nothing yet." />
    </div>
  )
}

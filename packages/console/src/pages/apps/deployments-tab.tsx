import type { AppInfo, DeploymentInfo } from '@offshoot/sdk'
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { CircleStop, RotateCcw } from 'lucide-react'
import { useApi } from '../../session/session.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { duration, Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { appQuery, canRollBackTo, deploymentsQuery, hasEnded, shortCommit } from './app-queries.ts'

const route = getRouteApi('/member/apps/$id')

interface Actions {
  readonly rollBack: (deployment: DeploymentInfo) => void
  readonly cancel: (deployment: DeploymentInfo) => void
}

const columnsFor = ({ activeDeploymentId: active }: AppInfo, actions: Actions): readonly Column<DeploymentInfo>[] => [
  {
    title: 'Version',
    cell: ({ id, appId, gitRef, gitCommit }) => (
      <Link
        to="/apps/$id/deployments/$deployment"
        params={{ id: appId, deployment: id }}
        className="plaintext font-medium"
      >
        {gitRef.slice(0, 40)} <span className="font-mono text-xs">{shortCommit(gitCommit)}</span>
      </Link>
    ),
  },
  {
    title: 'State',
    cell: ({ id, status, error }) => (
      <span className="flex flex-col items-start gap-1">
        <span className="flex gap-1">
          <StatusBadge status={status} />
          {id === active && <Badge tone="accent">serves</Badge>}
        </span>
        {error !== null && <span className="plaintext line-clamp-2 max-w-prose text-xs text-bad">{error}</span>}
      </span>
    ),
  },
  { title: 'Begun', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: 'Took',
    wide: true,
    cell: ({ startedAt, finishedAt }) =>
      startedAt === null || finishedAt === null ? '' : duration(Date.parse(finishedAt) - Date.parse(startedAt)),
  },
  { title: 'Actions', right: true, cell: (each) => <RowAction deployment={each} actions={actions} /> },
]

interface RowActionProps {
  readonly deployment: DeploymentInfo
  readonly actions: Actions
}

function RowAction({ deployment, actions }: RowActionProps) {
  if (!hasEnded(deployment))
    return (
      <Button small icon={<CircleStop size={14} aria-hidden />} onClick={() => actions.cancel(deployment)}>
        Cancel
      </Button>
    )
  if (!canRollBackTo(deployment)) return null
  return (
    <Button small icon={<RotateCcw size={14} aria-hidden />} onClick={() => actions.rollBack(deployment)}>
      Roll back to it
    </Button>
  )
}

/** All deployments, and what serves. */
export function DeploymentsTab() {
  const { id } = route.useParams()
  const api = useApi()
  const tell = useTell()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const { data: app } = useSuspenseQuery(appQuery(api, id))
  const query = useQuery(deploymentsQuery(api, id))
  const rollBack = async ({ id: deploymentId }: DeploymentInfo) => {
    const begun = await (await api.apps.get(id)).rollback({ deploymentId })
    await navigate({ to: '/apps/$id/deployments/$deployment', params: { id, deployment: begun.id } })
  }
  const cancel = async ({ id: deploymentId }: DeploymentInfo) => {
    await (await (await api.apps.get(id)).getDeployment(deploymentId)).cancel()
    await queries.invalidateQueries({ queryKey: ['deployment'] })
  }
  const actions: Actions = {
    rollBack: (deployment) => void tell.whether(rollBack(deployment)),
    cancel: (deployment) => void tell.whether(cancel(deployment), 'The deployment is cancelled'),
  }
  return (
    <QueryView query={query}>
      {(deployments) => (
        <div className="flex flex-col gap-5">
          <Serving app={app} active={deployments.find((each) => each.id === app.activeDeploymentId)} />
          {deployments.length === 0 ? (
            <p className="text-muted">No deployments yet. The button above deploys the branch {app.gitBranch}.</p>
          ) : (
            <Table
              label="Deployments"
              columns={columnsFor(app, actions)}
              rows={deployments}
              idOf={({ id: deployment }) => deployment}
            />
          )}
        </div>
      )}
    </QueryView>
  )
}

interface ServingProps {
  readonly app: AppInfo
  readonly active: DeploymentInfo | undefined
}

function Serving({ app, active }: ServingProps) {
  return (
    <Section title="Serves now">
      <Facts
        facts={{
          Version:
            active === undefined ? (
              <span className="text-muted">no version yet</span>
            ) : (
              <span>
                {active.gitRef} <span className="font-mono text-xs">{shortCommit(active.gitCommit)}</span>
              </span>
            ),
          Since: active?.finishedAt ? <Time at={active.finishedAt} /> : 'never',
          Sandbox:
            (active?.sandboxId ?? null) === null ? (
              'none'
            ) : (
              <Link to="/sandboxes/$id" params={{ id: active?.sandboxId ?? '' }} className="font-mono text-xs">
                {active?.sandboxId}
              </Link>
            ),
          Instances: app.maxInstances === 1 ? 'one' : `one, and up to ${app.maxInstances} under load`,
          Size: `${app.cpu} vCPU, ${app.memoryMb} MiB each`,
          Address: (
            <a href={app.url} target="_blank" rel="noreferrer" className="break-all">
              {app.url}
            </a>
          ),
        }}
      />
    </Section>
  )
}

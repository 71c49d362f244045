import type { AppInfo } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet, useNavigate } from '@tanstack/react-router'
import { Ellipsis, ExternalLink, Rocket, RotateCcw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { Button, buttonClasses, IconButton } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { DeleteDialog } from '../../ui/delete-dialog.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Page } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { TabLinks } from '../../ui/tabs.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { appQuery, canRollBackTo, deploymentsQuery } from './app-queries.ts'
import { DeployRefDialog } from './deploy-ref-dialog.tsx'

const route = getRouteApi('/member/apps/$id')

const TABS = [
  { label: 'Deployments', to: '/apps/$id' },
  { label: 'Runtime log', to: '/apps/$id/logs' },
  { label: 'Domains', to: '/apps/$id/domains' },
  { label: 'Previews', to: '/apps/$id/previews' },
  { label: 'Settings', to: '/apps/$id/settings' },
] as const

/** The frame of the pages of one app. */
export function AppPage() {
  const { id } = route.useParams()
  const query = useQuery(appQuery(useApi(), id))
  return (
    <QueryView query={query} ofPage>
      {(app) => (
        <Page title={app.name} description={<Description app={app} />} actions={<Actions key={id} app={app} />}>
          <TabLinks
            label="Parts of the app"
            tabs={TABS.map(({ label, to }) => ({
              label,
              link: { to, params: { id }, activeOptions: { exact: to === '/apps/$id' } },
            }))}
          />
          <Outlet />
        </Page>
      )}
    </QueryView>
  )
}

function Description({ app }: { readonly app: AppInfo }) {
  const { status, nameUrl, url, visibility, previewOf, pullNumber } = app
  const address = nameUrl ?? url
  return (
    <span className="flex flex-wrap items-center gap-2">
      <StatusBadge status={status} />
      {visibility === 'private' && <Badge tone="warn">private</Badge>}
      {previewOf !== null && (
        <Link to="/apps/$id" params={{ id: previewOf }}>
          preview of pull request {pullNumber}
        </Link>
      )}
      <a href={address} target="_blank" rel="noreferrer" className="min-w-0 break-all">
        {address.replace(/^https?:\/\//, '')}
      </a>
      <CopyButton text={address} label="Copy the address" />
    </span>
  )
}

function Actions({ app }: { readonly app: AppInfo }) {
  const api = useApi()
  const tell = useTell()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [busy, setBusy] = useState<'deploy' | 'rollback' | null>(null)
  const [open, setOpen] = useState<'ref' | 'delete' | null>(null)
  const { id } = app
  const { data: deployments = [] } = useQuery(deploymentsQuery(api, id))
  const begin = async (kind: 'deploy' | 'rollback') => {
    setBusy(kind)
    try {
      const handle = await api.apps.get(id)
      const { id: deployment } = await (kind === 'deploy' ? handle.deploy() : handle.rollback())
      await queries.invalidateQueries({ queryKey: ['deployment', 'list'] })
      await navigate({ to: '/apps/$id/deployments/$deployment', params: { id, deployment } })
    } catch (error) {
      tell.failed(error)
    } finally {
      setBusy(null)
    }
  }
  const remove = async () => {
    await api.apps.delete(id)
    void queries.invalidateQueries({ queryKey: ['app', 'list'] })
    await navigate({ to: '/apps' })
  }
  return (
    <>
      <a href={app.nameUrl ?? app.url} target="_blank" rel="noreferrer" className={buttonClasses('plain')}>
        <ExternalLink size={15} aria-hidden /> Open
      </a>
      <Button
        icon={<RotateCcw size={15} aria-hidden />}
        busy={busy === 'rollback'}
        disabled={app.activeDeploymentId === null || !deployments.some(canRollBackTo)}
        onClick={() => void begin('rollback')}
      >
        Roll back
      </Button>
      <Button
        look="primary"
        icon={<Rocket size={15} aria-hidden />}
        busy={busy === 'deploy'}
        onClick={() => void begin('deploy')}
      >
        Deploy
      </Button>
      <Menu
        trigger={<IconButton look="plain" label="More actions" icon={<Ellipsis size={15} aria-hidden />} />}
        groups={[
          [{ label: 'Deploy a branch or a commit', icon: <Rocket size={15} aria-hidden />, run: () => setOpen('ref') }],
          [
            {
              label: 'Delete',
              icon: <Trash2 size={15} aria-hidden />,
              danger: true,
              run: () => setOpen('delete'),
            },
          ],
        ]}
      />
      {open === 'ref' && <DeployRefDialog app={app} onClose={() => setOpen(null)} />}
      {open === 'delete' && (
        <DeleteDialog kind="app" name={app.name} run={remove} onClose={() => setOpen(null)} leaves>
          All its versions, previews and domains go, and its address answers nothing any more. The repository stays.
        </DeleteDialog>
      )}
    </>
  )
}

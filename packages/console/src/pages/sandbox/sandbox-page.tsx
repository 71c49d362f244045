import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Outlet } from '@tanstack/react-router'
import { useApi } from '../../session/session.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Page } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { TabLinks } from '../../ui/tabs.tsx'
import { sandboxQuery } from '../sandboxes/sandbox-queries.ts'
import { SandboxActions } from './sandbox-actions.tsx'

const route = getRouteApi('/member/sandboxes/$id')

const TABS = [
  { label: 'Terminal', to: '/sandboxes/$id/terminal' },
  { label: 'Overview', to: '/sandboxes/$id/overview' },
  { label: 'Lineage', to: '/sandboxes/$id/lineage' },
  { label: 'Files', to: '/sandboxes/$id/files' },
  { label: 'Changes', to: '/sandboxes/$id/changes' },
  { label: 'Commands', to: '/sandboxes/$id/commands' },
  { label: 'Ports', to: '/sandboxes/$id/ports' },
  { label: 'Logs', to: '/sandboxes/$id/logs' },
  { label: 'Timeline', to: '/sandboxes/$id/timeline' },
  { label: 'Metrics', to: '/sandboxes/$id/metrics' },
] as const

/** The frame of the pages of one sandbox. */
export function SandboxPage() {
  const { id } = route.useParams()
  const query = useQuery(sandboxQuery(useApi(), id))
  return (
    <QueryView query={query} ofPage>
      {(sandbox) => (
        <Page
          title={sandbox.metadata['name'] ?? `Sandbox ${id.slice(0, 8)}`}
          description={
            <span className="flex flex-wrap items-center gap-2">
              <StatusBadge status={sandbox.status} />
              <span className="font-mono text-xs break-all">{id}</span>
              <CopyButton text={id} label="Copy the id" />
            </span>
          }
          actions={<SandboxActions sandbox={sandbox} />}
        >
          <TabLinks
            label="Parts of the sandbox"
            tabs={TABS.map(({ label, to }) => ({ label, link: { to, params: { id } } }))}
          />
          <Outlet />
        </Page>
      )}
    </QueryView>
  )
}

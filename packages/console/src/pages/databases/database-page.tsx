import type { DatabaseInfo } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet, useNavigate } from '@tanstack/react-router'
import { Ellipsis, GitBranch, KeyRound, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { DeleteDialog } from '../../ui/delete-dialog.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Page } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { TabLinks } from '../../ui/tabs.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { BranchDialog } from './branch-dialog.tsx'
import { databaseQuery, nameOf } from './database-queries.ts'

const route = getRouteApi('/member/databases/$id')

const TABS = [
  { label: 'Connect', to: '/databases/$id' },
  { label: 'SQL', to: '/databases/$id/sql' },
  { label: 'Branches', to: '/databases/$id/branches' },
  { label: 'Backups and restore', to: '/databases/$id/backups' },
  { label: 'Stats', to: '/databases/$id/stats' },
  { label: 'Logs', to: '/databases/$id/logs' },
  { label: 'Settings', to: '/databases/$id/settings' },
] as const

/** The frame of the pages of one database. */
export function DatabasePage() {
  const { id } = route.useParams()
  const query = useQuery(databaseQuery(useApi(), id))
  return (
    <QueryView query={query} ofPage>
      {(database) => (
        <Page
          title={nameOf(database)}
          description={
            <span className="flex flex-wrap items-center gap-2">
              <StatusBadge status={database.status} />
              <span className="font-mono text-xs break-all">{id}</span>
              <CopyButton text={id} label="Copy the id" />
              {database.parentId !== null && (
                <Link to="/databases/$id" params={{ id: database.parentId }}>
                  a branch
                </Link>
              )}
            </span>
          }
          actions={<Actions database={database} />}
        >
          <TabLinks
            label="Parts of the database"
            tabs={TABS.map(({ label, to }) => ({
              label,
              link: { to, params: { id }, activeOptions: { exact: to === '/databases/$id' } },
            }))}
          />
          <Outlet />
        </Page>
      )}
    </QueryView>
  )
}

function Actions({ database }: { readonly database: DatabaseInfo }) {
  const api = useApi()
  const confirm = useConfirm()
  const tell = useTell()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [open, setOpen] = useState<'branch' | 'delete' | null>(null)
  const close = () => setOpen(null)
  const { id } = database
  const reset = () =>
    confirm({
      title: 'Make new credentials?',
      description: 'The password and the broker token change at once, and all connections end.',
      action: 'Make new credentials',
      run: async () => {
        await (await api.databases.get(id)).resetCredentials()
        await queries.invalidateQueries({ queryKey: ['database', id] })
        tell.done('The database has new credentials')
      },
    })
  const remove = async () => {
    await api.databases.delete(id)
    void queries.invalidateQueries({ queryKey: ['database', 'list'] })
    await navigate({ to: '/databases', search: {} })
  }
  return (
    <>
      <Button look="primary" icon={<GitBranch size={15} aria-hidden />} onClick={() => setOpen('branch')}>
        Branch
      </Button>
      <Menu
        trigger={<IconButton look="plain" label="More actions" icon={<Ellipsis size={15} aria-hidden />} />}
        groups={[
          [{ label: 'Reset credentials', icon: <KeyRound size={15} aria-hidden />, run: reset }],
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
      {open === 'branch' && <BranchDialog database={database} onClose={close} />}
      {open === 'delete' && (
        <DeleteDialog kind="database" name={nameOf(database)} run={remove} onClose={close} leaves>
          Its data, its backups and its archive are lost, and no time of it can be restored. Branches stay.
        </DeleteDialog>
      )}
    </>
  )
}

import type { AppInfo, CreatedPreviewLink, PreviewLink } from '@offshoot/sdk'
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Link2, Trash2 } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { CopyRow } from '../../ui/copy-row.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Choice, Field, Input } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { appQuery, linksQuery, previewsQuery } from './app-queries.ts'

const route = getRouteApi('/member/apps/$id')

const PREVIEWS: readonly Column<AppInfo>[] = [
  {
    title: 'Pull request',
    cell: ({ id, pullNumber }) => (
      <Link to="/apps/$id" params={{ id }} className="font-medium">
        #{pullNumber}
      </Link>
    ),
  },
  { title: 'State', cell: ({ status }) => <StatusBadge status={status} /> },
  { title: 'Branch', cell: ({ gitBranch }) => <span className="plaintext">{gitBranch}</span> },
  {
    title: 'Address',
    wide: true,
    cell: ({ url }) => (
      <a href={url} target="_blank" rel="noreferrer" className="break-all">
        {url}
      </a>
    ),
  },
  { title: 'Made', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
]

/** Previews of pull requests, and the links that open a private app. */
export function PreviewsTab() {
  const { id } = route.useParams()
  const api = useApi()
  const { data: app } = useSuspenseQuery(appQuery(api, id))
  const previews = useQuery(previewsQuery(api, id))
  return (
    <div className="flex flex-col gap-5">
      <Section title="Pull requests">
        <QueryView query={previews}>
          {(all) =>
            all.length === 0 ? (
              <p className="text-muted">
                {app.previewDeploys
                  ? 'No pull request is open.'
                  : 'Previews are off. The settings of the app turn them on.'}
              </p>
            ) : (
              <Table label="Previews" columns={PREVIEWS} rows={all} idOf={(each) => each.id} />
            )
          }
        </QueryView>
      </Section>
      <Links app={app} />
    </div>
  )
}

const LIFETIMES = [
  { value: '3600', label: 'An hour' },
  { value: '86400', label: 'A day' },
  { value: '604800', label: 'A week' },
  { value: '31536000', label: 'A year' },
]

const linkColumns = (remove: (link: PreviewLink) => void): readonly Column<PreviewLink>[] => [
  { title: 'For', cell: ({ label }) => <span className="plaintext">{label ?? 'anybody'}</span> },
  { title: 'Made', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Ends', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  {
    title: 'Actions',
    right: true,
    cell: (link) => (
      <IconButton small label="Revoke this link" icon={<Trash2 size={14} aria-hidden />} onClick={() => remove(link)} />
    ),
  },
]

function Links({ app: { id, visibility } }: { readonly app: AppInfo }) {
  const api = useApi()
  const tell = useTell()
  const queries = useQueryClient()
  const options = linksQuery(api, id)
  const links = useQuery(options)
  const [label, setLabel] = useState('')
  const [seconds, setSeconds] = useState('86400')
  const [made, setMade] = useState<CreatedPreviewLink | null>(null)
  const [error, setError] = useState<unknown>(null)
  const readAgain = async () => queries.invalidateQueries({ queryKey: options.queryKey })
  const create = async (event: FormEvent) => {
    event.preventDefault()
    setError(null)
    try {
      const handle = await api.apps.get(id)
      setMade(
        await handle.links.create({
          expiresInSeconds: Number(seconds),
          ...(label.trim() !== '' && { label: label.trim() }),
        }),
      )
      setLabel('')
      await readAgain()
    } catch (failure) {
      setError(failure)
    }
  }
  const remove = async (link: PreviewLink) => {
    await (await api.apps.get(id)).links.delete(link)
    await readAgain()
  }
  return (
    <Section title="Links to the private app">
      <div className="flex flex-col gap-4">
        <p className="text-muted">
          {visibility === 'private'
            ? 'Whoever has a link can open the app and its previews until the link ends.'
            : 'The app is public, so everybody can open it without a link. The settings make it private.'}
        </p>
        <form onSubmit={(event) => void create(event)} className="flex flex-wrap items-end gap-2">
          <Field label="For whom">
            <Input value={label} onValueChange={setLabel} maxLength={128} />
          </Field>
          <Field label="Ends after">
            <Choice options={LIFETIMES} value={seconds} onChoose={setSeconds} />
          </Field>
          <Button type="submit" icon={<Link2 size={15} aria-hidden />}>
            Make a link
          </Button>
        </form>
        {error !== null && <ErrorText error={error} />}
        {made !== null && <CopyRow label="The link, which is shown only now" text={made.url} />}
        <QueryView query={links}>
          {(all) =>
            all.length === 0 ? (
              <p className="text-muted">No links.</p>
            ) : (
              <Table
                label="Links"
                columns={linkColumns((link) => void tell.whether(remove(link), 'The link is revoked'))}
                rows={all}
                idOf={(each) => each.id}
              />
            )
          }
        </QueryView>
      </div>
    </Section>
  )
}

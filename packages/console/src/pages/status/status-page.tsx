import { Offshoot, type RouteAnswer } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck, CircleHelp, TriangleAlert } from 'lucide-react'
import { useEffect } from 'react'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { RefreshButton } from '../../ui/refresh-button.tsx'
import { Time } from '../../ui/time.tsx'

type Status = RouteAnswer<'GET /v1/status'>['status']
type Parts = RouteAnswer<'GET /v1/status'>['parts']

const PARTS = {
  api: 'API',
  sandboxes: 'Sandboxes',
  databases: 'Databases',
  apps: 'Apps',
  previews: 'Previews and addresses of apps',
} as const satisfies Record<keyof Parts, string>

const LOOKS = {
  operational: { summary: 'Everything works', tone: 'good', className: 'bg-good-soft text-good', icon: CircleCheck },
  degraded: {
    summary: 'Something works in part',
    tone: 'warn',
    className: 'bg-warn-soft text-warn',
    icon: TriangleAlert,
  },
  down: { summary: 'Something does not work', tone: 'bad', className: 'bg-bad-soft text-bad', icon: TriangleAlert },
  unknown: { summary: 'It is not known whether it works', tone: 'idle', className: 'bg-raised', icon: CircleHelp },
} as const satisfies Record<Status, { readonly tone: Tone; readonly [name: string]: unknown }>

const api = new Offshoot({ baseUrl: location.origin, apiKey: 'none', maxRetries: 0 })

/** Whether the service works. It takes no sign-in. */
export function StatusPage() {
  const query = useQuery({
    queryKey: ['status'],
    queryFn: async ({ signal }) => {
      const [health, version] = await Promise.all([
        api.request('GET /v1/status', { signal }),
        api.request('GET /version', { signal }),
      ])
      return { health, version }
    },
  })
  const { refetch } = query
  useEffect(() => {
    const refresh = () => {
      if (document.visibilityState === 'visible') void refetch()
    }
    document.addEventListener('visibilitychange', refresh)
    return () => document.removeEventListener('visibilitychange', refresh)
  }, [refetch])
  return (
    <main className="h-full overflow-y-auto">
      <Page
        title="Status"
        actions={
          <>
            <RefreshButton busy={query.isFetching} refetch={query.refetch} />
            <Link to="/">Open the console</Link>
          </>
        }
      >
        <QueryView query={query}>
          {({ health, version }) => (
            <>
              <Summary status={health.status} />
              <Section title="Parts">
                <ul className="flex flex-col gap-2">
                  {Object.entries(PARTS).map(([name, title]) => (
                    <li key={name} className="flex justify-between gap-3">
                      {title}
                      <PartBadge status={health.parts[name as keyof Parts]} />
                    </li>
                  ))}
                </ul>
              </Section>
              <p className="text-muted">
                Version {version['version']} ({version['commit']?.slice(0, 12)}). Checked{' '}
                <Time at={health.checked_at} />.
              </p>
            </>
          )}
        </QueryView>
      </Page>
    </main>
  )
}

function PartBadge({ status }: { readonly status: Status }) {
  return <Badge tone={LOOKS[status].tone}>{status}</Badge>
}

function Summary({ status }: { readonly status: Status }) {
  const { summary, className, icon: Icon } = LOOKS[status]
  return (
    <p role="status" className={`flex items-center gap-3 rounded-lg p-4 text-base font-semibold ${className}`}>
      <Icon aria-hidden /> {summary}
    </p>
  )
}

import { ApiError, Offshoot, type RouteAnswer } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck, RefreshCw, TriangleAlert } from 'lucide-react'
import { useEffect } from 'react'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { bytes, Time } from '../../ui/time.tsx'

type Health = RouteAnswer<'GET /healthz'>

/** What the page needs of an agent. */
interface Agent {
  readonly id: string
  readonly status: string
  readonly accelerator?: string
  readonly isolation?: string
  readonly sandboxes?: number
  readonly disk?: { readonly free_bytes: number; readonly total_bytes: number }
}

const CHECKS: Readonly<Record<string, string>> = {
  database: 'Database of the service',
  agents: 'Hosts of sandboxes',
  disk: 'Disks',
}

const api = new Offshoot({ baseUrl: location.origin, apiKey: 'none', maxRetries: 0 })

/** A service with a failing part answers with 503 and says which. */
async function readHealth(signal: AbortSignal): Promise<Health> {
  try {
    return await api.request('GET /healthz', { signal })
  } catch (error) {
    if (error instanceof ApiError && error.body['checks'] !== undefined) return error.body as unknown as Health
    throw error
  }
}

/** Whether the service works. It takes no sign-in. */
export function StatusPage() {
  const query = useQuery({
    queryKey: ['status'],
    queryFn: async ({ signal }) => {
      const [health, version] = await Promise.all([readHealth(signal), api.request('GET /version', { signal })])
      return { health, version, at: new Date().toISOString() }
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
            <Button
              icon={<RefreshCw size={15} aria-hidden />}
              busy={query.isFetching}
              onClick={() => void query.refetch()}
            >
              Refresh
            </Button>
            <Link to="/">Open the console</Link>
          </>
        }
      >
        <QueryView query={query}>
          {({ health, version, at }) => (
            <>
              <Summary isOk={health.status === 'ok'} />
              <Section title="Parts">
                <ul className="flex flex-col gap-2">
                  {Object.entries(health.checks).map(([name, state]) => (
                    <li key={name} className="flex justify-between gap-3">
                      {CHECKS[name] ?? name}
                      <Badge tone={state === 'ok' ? 'good' : 'bad'}>{state}</Badge>
                    </li>
                  ))}
                </ul>
              </Section>
              <Section title="Hosts">
                <ul className="flex flex-col gap-3">
                  {(health.agents as readonly Agent[]).map((agent) => (
                    <Host key={agent.id} agent={agent} />
                  ))}
                </ul>
              </Section>
              <p className="text-muted">
                Version {version['version']} ({version['commit']?.slice(0, 12)}). Read <Time at={at} />.
              </p>
            </>
          )}
        </QueryView>
      </Page>
    </main>
  )
}

function Summary({ isOk }: { readonly isOk: boolean }) {
  return (
    <p
      role="status"
      className={`flex items-center gap-3 rounded-lg p-4 text-base font-semibold ${isOk ? 'bg-good-soft text-good' : 'bg-bad-soft text-bad'}`}
    >
      {isOk ? <CircleCheck aria-hidden /> : <TriangleAlert aria-hidden />}
      {isOk ? 'Everything works' : 'Something does not work'}
    </p>
  )
}

function Host({ agent: { id, status, accelerator, isolation, sandboxes, disk } }: { readonly agent: Agent }) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
      <span className="font-mono text-xs break-all">{id}</span>
      <span className="flex flex-wrap items-center gap-3 text-muted">
        {accelerator !== undefined && <span>{accelerator}</span>}
        {isolation !== undefined && <span>{isolation}</span>}
        {sandboxes !== undefined && <span>{sandboxes} sandboxes</span>}
        {disk !== undefined && <span>{bytes(disk.free_bytes)} free</span>}
        <Badge tone={status === 'ok' ? 'good' : 'bad'}>{status}</Badge>
      </span>
    </li>
  )
}

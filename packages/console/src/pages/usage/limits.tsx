import { useQuery } from '@tanstack/react-query'
import { useSession } from '../../session/session.tsx'
import { Badge } from '../../ui/badge.tsx'
import { classes } from '../../ui/classes.ts'
import { Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { serviceQuery } from '../account/service-query.ts'
import { Billing } from './billing.tsx'
import { LIMITS } from './figures.ts'

/** Shares of a limit from which on its bar warns. */
const NEAR = 0.8

/** The plan, and how much of each limit is taken. */
export function Limits() {
  const { api, can } = useSession()
  const query = useQuery({
    queryKey: ['limits'],
    queryFn: async ({ signal }) => api.request('GET /v1/usage/limits', { signal }),
    staleTime: 0,
  })
  const { data: service } = useQuery(serviceQuery)
  return (
    <Section
      title="Plan and limits"
      actions={service?.has_payments === true && can('billing:manage') && <Billing plan={query.data?.plan} />}
    >
      <QueryView query={query}>
        {({ plan, subscription_status: subscription, limits }) => (
          <div className="flex flex-col gap-4">
            <p className="flex flex-wrap items-center gap-2">
              Plan <Badge tone="accent">{plan}</Badge>
              {subscription !== null && (
                <Badge tone={['active', 'trialing'].includes(subscription) ? 'good' : 'bad'}>
                  subscription: {subscription}
                </Badge>
              )}
            </p>
            <ul className="grid gap-x-8 gap-y-4 sm:grid-cols-2 lg:grid-cols-3">
              {limits.filter(isShown).map((limit) => (
                <Limit key={limit.name} {...limit} />
              ))}
            </ul>
          </div>
        )}
      </QueryView>
    </Section>
  )
}

/** A plan without free credit has none to show. */
const isShown = ({ name, max }: LimitProps) => name !== 'credit_usd_month' || max !== null

interface LimitProps {
  readonly name: keyof typeof LIMITS
  readonly used: number
  readonly max: number | null
}

function Limit({ name, used, max }: LimitProps) {
  const { label, show } = LIMITS[name]
  const share = max === null ? 0 : Math.min(1, max === 0 ? 1 : used / max)
  const tone = share >= 1 ? 'bg-bad' : share >= NEAR ? 'bg-warn' : 'bg-accent'
  return (
    <li className="flex flex-col gap-1.5">
      <span className="flex justify-between gap-3">
        <span className="text-muted">{label}</span>
        <span className="whitespace-nowrap">
          {show(used)}
          <span className="text-muted">{max === null ? ', no limit' : ` of ${show(max)}`}</span>
        </span>
      </span>
      {max !== null && (
        <span className="h-1.5 overflow-hidden rounded-full bg-raised" aria-hidden>
          <span className={classes('block h-full rounded-full', tone)} style={{ width: `${share * 100}%` }} />
        </span>
      )}
    </li>
  )
}

import type { Usage } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useSession } from '../../session/session.tsx'
import { INPUT_CLASSES } from '../../ui/field.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { money, time } from './figures.ts'
import { Limits } from './limits.tsx'
import { boundsOf, daysBetween, recentMonths } from './months.ts'
import { Statement } from './statement.tsx'
import { UsageChart } from './usage-chart.tsx'

type Group = Usage['groups'][number]
type Grouping = Usage['groupBy']

const GROUPINGS: readonly Grouping[] = ['day', 'template', 'app', 'database', 'sandbox']

/** What the workspace used, what it costs, and what it may use. */
export function UsagePage() {
  const [months] = useState(() => recentMonths(new Date()))
  const [month, setMonth] = useState(months[0] ?? '')
  return (
    <Page title="Usage and limits">
      <Limits />
      <label className="flex items-center gap-2 text-muted">
        Month
        <select
          value={month}
          onChange={({ currentTarget }) => setMonth(currentTarget.value)}
          className={`${INPUT_CLASSES} !w-auto`}
        >
          {months.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <Days month={month} />
      <Groups month={month} />
      <Statement month={month} />
    </Page>
  )
}

function useUsage(month: string, groupBy: Grouping) {
  const { api } = useSession()
  return useQuery({
    queryKey: ['usage', month, groupBy],
    queryFn: async ({ signal }) => api.usage({ ...boundsOf(month), groupBy, signal }),
    // Usage grows while the page is away.
    staleTime: 0,
  })
}

function Days({ month }: { readonly month: string }) {
  const query = useUsage(month, 'day')
  return <QueryView query={query}>{(usage) => <Charts usage={usage} />}</QueryView>
}

function Charts({ usage: { groups, from, to } }: { readonly usage: Usage }) {
  const { days, costs, cpu } = useMemo(() => {
    const byDay = new Map(groups.map((group) => [group.key, group]))
    const days = daysBetween(from, to)
    return {
      days,
      costs: days.map((day) => byDay.get(day)?.costUsd ?? 0),
      cpu: days.map((day) => byDay.get(day)?.cpuSeconds ?? 0),
    }
  }, [groups, from, to])
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-5 lg:grid-cols-2">
      <Section title="Cost by day">
        <UsageChart label="Cost of each day" days={days} values={costs} show={money} />
      </Section>
      <Section title="CPU time by day">
        <UsageChart label="CPU time of each day" days={days} values={cpu} show={time} />
      </Section>
    </div>
  )
}

const COLUMNS: readonly Column<Group>[] = [
  { title: 'Running', right: true, wide: true, cell: ({ runningSeconds }) => time(runningSeconds) },
  { title: 'Paused', right: true, wide: true, cell: ({ pausedSeconds }) => time(pausedSeconds) },
  { title: 'Hibernated', right: true, wide: true, cell: ({ hibernatedSeconds }) => time(hibernatedSeconds) },
  { title: 'CPU time', right: true, cell: ({ cpuSeconds }) => time(cpuSeconds) },
  { title: 'Cost', right: true, cell: ({ costUsd }) => money(costUsd) },
]

function Groups({ month }: { readonly month: string }) {
  const [groupBy, setGroupBy] = useState<Grouping>('day')
  const query = useUsage(month, groupBy)
  const columns: readonly Column<Group>[] = [
    {
      title: groupBy.replace(/^./, (first) => first.toUpperCase()),
      cell: ({ key }) => <span className="plaintext break-all">{key ?? `not of any ${groupBy}`}</span>,
    },
    ...COLUMNS,
  ]
  return (
    <Section
      title="Usage"
      actions={
        <select
          aria-label="Group by"
          value={groupBy}
          onChange={({ currentTarget }) => setGroupBy(currentTarget.value as Grouping)}
          className={`${INPUT_CLASSES} !w-auto`}
        >
          {GROUPINGS.map((each) => (
            <option key={each} value={each}>
              by {each}
            </option>
          ))}
        </select>
      }
    >
      <QueryView query={query}>
        {({ groups, total }) =>
          groups.length === 0 ? (
            <p className="text-muted">Nothing was used in this month.</p>
          ) : (
            <Table
              label="Usage"
              columns={columns}
              rows={[...groups, { key: 'total', ...total }]}
              idOf={({ key }) => key ?? 'none'}
            />
          )
        }
      </QueryView>
    </Section>
  )
}

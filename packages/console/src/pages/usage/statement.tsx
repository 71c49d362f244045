import type { RouteAnswer } from '@offshoot/sdk'
import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useSession } from '../../session/session.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { type Column, Table } from '../../ui/table.tsx'
import { money, time } from './figures.ts'

type StatementOfMonth = RouteAnswer<'GET /v1/statements/{month}'>
type Line = StatementOfMonth['lines'][number]

const COLUMNS: readonly Column<Line>[] = [
  { title: 'Item', cell: ({ item }) => item },
  { title: 'Time', right: true, cell: ({ seconds }) => time(seconds) },
  { title: 'CPU time', right: true, wide: true, cell: ({ cpu_seconds: seconds }) => time(seconds) },
  { title: 'Cost', right: true, cell: ({ cost_usd: usd }) => money(usd) },
]

/** The bill of a month, so far. */
export function Statement({ month }: { readonly month: string }) {
  const { api } = useSession()
  const query = useQuery({
    queryKey: ['statement', month],
    queryFn: async ({ signal }) => api.request('GET /v1/statements/{month}', { path: { month }, signal }),
    staleTime: 0,
  })
  const save = (statement: StatementOfMonth) =>
    saveFile(`statement-${month}.csv`, new Blob([csvOf(statement)], { type: 'text/csv' }))
  return (
    <Section
      title={`Statement of ${month}`}
      actions={
        query.data !== undefined && (
          <Button small icon={<Download size={14} aria-hidden />} onClick={() => save(query.data)}>
            Download
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ plan, is_final: isFinal, lines, usage_usd: usage, credit_usd: credit, total_usd: total }) => (
          <div className="flex flex-col gap-4">
            {lines.length > 0 && (
              <Table label="Lines of the statement" columns={COLUMNS} rows={lines} idOf={({ item }) => item} />
            )}
            <Facts
              facts={{
                Plan: plan,
                Usage: money(usage),
                Credit: money(credit),
                Total: (
                  <span className="flex items-center gap-2 font-semibold">
                    {money(total)} <Badge tone={isFinal ? 'good' : 'accent'}>{isFinal ? 'final' : 'so far'}</Badge>
                  </span>
                ),
              }}
            />
          </div>
        )}
      </QueryView>
    </Section>
  )
}

/** Every cell is a word of the service or a number, so none needs quotes. */
function csvOf({ lines, usage_usd: usage, credit_usd: credit, total_usd: total }: StatementOfMonth): string {
  const rows = [
    ['item', 'seconds', 'cpu_seconds', 'cost_usd'],
    ...lines.map((line) => [line.item, line.seconds, line.cpu_seconds, line.cost_usd]),
    ['usage', '', '', usage],
    ['credit', '', '', -credit],
    ['total', '', '', total],
  ]
  return `${rows.map((row) => row.join(',')).join('\r\n')}\r\n`
}

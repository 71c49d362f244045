import type { RouteAnswer } from '@offshoot/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePages } from '../../live/use-pages.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { ErrorPanel } from '../../ui/error-panel.tsx'
import { INPUT_CLASSES } from '../../ui/field.tsx'
import { Loading } from '../../ui/query-view.tsx'
import { RefreshButton } from '../../ui/refresh-button.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { useOperator } from './operator-context.ts'

type Job = RouteAnswer<'GET /v1/admin/jobs'>[number]
type State = Job['state']

const TONES: Record<State, Tone> = { waiting: 'neutral', running: 'accent', retrying: 'warn', failed: 'bad' }
const STATES = Object.keys(TONES) as readonly State[]

/** The jobs of control. */
export function JobsTab() {
  const api = useOperator()
  const queries = useQueryClient()
  const confirm = useConfirm()
  const tell = useTell()
  const [state, setState] = useState<State | ''>('')
  const { query, rows, more } = usePages(api, 'GET /v1/admin/jobs', ['operator', 'jobs', state], {
    query: state === '' ? {} : { state },
  })
  const refresh = () => queries.invalidateQueries({ queryKey: ['operator', 'jobs'] })
  const retry = async (id: string) => {
    await api.request('POST /v1/admin/jobs/{id}/retry', { path: { id } })
    await refresh()
  }
  const discard = ({ id, task }: Job) =>
    confirm({
      title: `Discard this job (${task})?`,
      description: 'One that is still necessary is added again within a minute.',
      action: 'Discard',
      run: async () => {
        await api.request('DELETE /v1/admin/jobs/{id}', { path: { id } })
        await refresh()
      },
    })
  const columns: readonly Column<Job>[] = [
    { title: 'Task', cell: ({ task }) => <span className="font-medium">{task}</span> },
    { title: 'State', cell: (job) => <Badge tone={TONES[job.state]}>{job.state}</Badge> },
    {
      title: 'Subject',
      wide: true,
      cell: ({ subject }) => <span className="plaintext font-mono text-xs">{subject}</span>,
    },
    { title: 'Attempts', wide: true, right: true, cell: (job) => `${job.attempts} of ${job.max_attempts}` },
    { title: 'Runs', wide: true, cell: ({ run_at: at }) => <Time at={at} /> },
    { title: 'Error', wide: true, cell: ({ error }) => <span className="plaintext line-clamp-3">{error}</span> },
    {
      title: 'Actions',
      right: true,
      cell: (job) => (
        <span className="flex justify-end gap-2">
          <Button
            small
            aria-label={`Retry ${job.task} ${job.id}`}
            onClick={() => void tell.whether(retry(job.id), 'The job runs now')}
          >
            Retry
          </Button>
          <Button small look="danger" aria-label={`Discard ${job.task} ${job.id}`} onClick={() => discard(job)}>
            Discard
          </Button>
        </span>
      ),
    },
  ]
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <select
          aria-label="State"
          value={state}
          onChange={({ currentTarget }) => setState(currentTarget.value as State | '')}
          className={`${INPUT_CLASSES} !w-auto`}
        >
          <option value="">State: any</option>
          {STATES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <RefreshButton busy={query.isFetching} refetch={query.refetch} />
      </div>
      {rows === undefined ? (
        query.isError ? (
          <ErrorPanel error={query.error} retry={() => void query.refetch()} />
        ) : (
          <Loading />
        )
      ) : rows.length === 0 ? (
        <p className="text-muted">No jobs. Control works on each within moments.</p>
      ) : (
        <Table label="Jobs" columns={columns} rows={rows} idOf={({ id }) => id} onEnd={more} />
      )}
    </>
  )
}

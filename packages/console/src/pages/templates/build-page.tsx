import type { Build } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { CircleStop } from 'lucide-react'
import { useCallback, useEffect } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button, buttonClasses } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { useConfirm } from '../../ui/confirm.tsx'
import { type LogEntry, LogView } from '../../ui/log-view.tsx'
import { Page } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { useFollowed } from '../../ui/use-followed.ts'
import { BuildState } from './builds-table.tsx'
import { buildQuery } from './template-queries.ts'

const route = getRouteApi('/member/builds/$id')

const STAGES = ['waiting', 'reading', 'unpacking', 'booting', 'freezing', 'done'] as const

interface BuildEntry extends LogEntry {
  readonly stage: Build['stage']
  readonly percent: number
}

/** One build with its log as it is written. */
export function BuildPage() {
  const { id } = route.useParams()
  const query = useQuery(buildQuery(useApi(), id))
  return (
    <QueryView query={query} ofPage>
      {(build) => <Shown key={id} build={build} />}
    </QueryView>
  )
}

function Shown({ build }: { readonly build: Build }) {
  const api = useApi()
  const queries = useQueryClient()
  const { id, name } = build
  const open = useCallback(
    async function* (signal: AbortSignal): AsyncGenerator<BuildEntry> {
      const followed = await api.templates.getBuild(id, { signal })
      for await (const { ts, stage, percent, line } of followed.followLogs({ signal }))
        yield { text: line, lead: `${new Date(ts).toLocaleTimeString()} ${stage}`, stage, percent }
    },
    [api, id],
  )
  const log = useFollowed(open)
  const { isOver } = log
  useEffect(() => {
    if (!isOver) return
    void queries.invalidateQueries({ queryKey: ['build'] })
    void queries.invalidateQueries({ queryKey: ['template'] })
  }, [isOver, queries])
  const last = log.entries.at(-1)
  return (
    <Page
      title={`Build of ${name}`}
      description={<BuildState build={build} />}
      actions={
        build.endedAt === null ? (
          <CancelButton build={build} />
        ) : (
          <Link to="/templates/$name" params={{ name }} className={buttonClasses('plain')}>
            Open the template
          </Link>
        )
      }
    >
      <Progress
        stage={build.endedAt === null ? (last?.stage ?? build.stage) : build.stage}
        percent={build.endedAt === null ? (last?.percent ?? build.percent) : build.percent}
        hasFailed={build.status === 'failed'}
      />
      {build.error !== null && (
        <p role="alert" className="plaintext rounded-md bg-bad-soft px-3 py-2 whitespace-pre-wrap text-bad">
          {build.error}
        </p>
      )}
      <LogView label="Log" log={log} empty="The build has written nothing yet." />
    </Page>
  )
}

function CancelButton({ build }: { readonly build: Build }) {
  const api = useApi()
  const confirm = useConfirm()
  const cancel = () =>
    confirm({
      title: 'Cancel this build?',
      description: 'The upload must be repeated for another build.',
      action: 'Cancel the build',
      run: async () => (await api.templates.getBuild(build.id)).delete(),
    })
  return (
    <Button look="danger" icon={<CircleStop size={15} aria-hidden />} onClick={cancel}>
      Cancel
    </Button>
  )
}

interface ProgressProps {
  readonly stage: Build['stage']
  readonly percent: number
  readonly hasFailed: boolean
}

function Progress({ stage, percent, hasFailed }: ProgressProps) {
  const at = STAGES.indexOf(stage)
  const colour = hasFailed ? 'bg-bad' : 'bg-accent'
  return (
    <div className="flex flex-col gap-2">
      <div
        role="progressbar"
        aria-label="Progress"
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
        className="h-2 overflow-hidden rounded-full bg-raised"
      >
        <div className={classes('h-2', colour)} style={{ width: `${percent}%` }} />
      </div>
      <ol className="flex flex-wrap gap-x-4 gap-y-1 text-xs">
        {STAGES.map((each, index) => (
          <li
            key={each}
            aria-current={index === at ? 'step' : undefined}
            className={classes(
              index === at ? (hasFailed ? 'font-semibold text-bad' : 'font-semibold text-accent') : 'text-muted',
            )}
          >
            {index < at ? `✓ ${each}` : each}
          </li>
        ))}
      </ol>
    </div>
  )
}

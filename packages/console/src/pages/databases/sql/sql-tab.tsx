import { ApiError, type DatabaseInfo } from '@offshoot/sdk'
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { History, Play, Route, Square } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useApi } from '../../../session/session.tsx'
import { Button } from '../../../ui/button.tsx'
import { ErrorText } from '../../../ui/error-panel.tsx'
import { duration, Time } from '../../../ui/time.tsx'
import { databaseQuery } from '../database-queries.ts'
import { Editor, type EditorHandle, type SchemaNames } from './editor.tsx'
import { type PastRun, useHistory } from './history.ts'
import { type Plan, planOf } from './plan.ts'
import { PlanView } from './plan-view.tsx'
import { ResultTable } from './result-table.tsx'
import { explainSql, placeOfError, type Result, runSql } from './run-sql.ts'
import { fullName, SchemaBrowser, schemaQuery } from './schema-browser.tsx'
import { placeOf, statementAt, statementsOf, type StatementText } from './statements.ts'

const route = getRouteApi('/member/databases/$id')

type Outcome =
  | { readonly kind: 'results'; readonly results: readonly Result[]; readonly ms: number }
  | { readonly kind: 'plan'; readonly plan: Plan; readonly isMeasured: boolean }
  | { readonly kind: 'error'; readonly error: unknown; readonly place: string | null }

/** Runs SQL in the database, over HTTP. */
export function SqlTab() {
  const { id } = route.useParams()
  const { data: database } = useSuspenseQuery(databaseQuery(useApi(), id))
  return <Workbench key={id} database={database} />
}

const EXPLAIN_ALONE = 'Write a statement to explain.'

function Workbench({ database }: { readonly database: DatabaseInfo }) {
  const api = useApi()
  const queries = useQueryClient()
  const editor = useRef<EditorHandle>(null)
  const history = useHistory(database.id)
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const [running, setRunning] = useState<AbortController | null>(null)
  const [isHistoryOpen, setHistoryOpen] = useState(false)
  const names = useNames(database)
  useEffect(() => () => running?.abort(), [running])

  /** @param work returns the outcome and what the history says of it */
  const attempt = async (
    statements: readonly StatementText[],
    text: string,
    work: (signal: AbortSignal) => Promise<{ outcome: Outcome; said: string }>,
  ) => {
    const leave = new AbortController()
    setRunning(leave)
    editor.current?.mark(null)
    try {
      const { outcome: got, said } = await work(leave.signal)
      setOutcome(got)
      history.add({ sql: text, at: Date.now(), outcome: said })
    } catch (error) {
      if (leave.signal.aborted) return
      const at = placeOfError(error, statements)
      editor.current?.mark(at)
      setOutcome({ kind: 'error', error, place: at === null ? null : placeOf(editor.current?.text() ?? '', at) })
      history.add({ sql: text, at: Date.now(), outcome: error instanceof ApiError ? error.body.error : 'failed' })
    } finally {
      setRunning((current) => (current === leave ? null : current))
    }
  }
  const run = () => {
    const selected = editor.current?.selected()
    if (selected === undefined || running !== null) return
    const statements = statementsOf(selected.text).map((each) => ({ ...each, from: each.from + selected.from }))
    if (statements.length === 0) return
    void attempt(statements, selected.text.trim(), async (signal) => {
      const startedAt = performance.now()
      const results = await runSql(api, database, statements, { signal })
      if (results.some(({ command }) => command !== 'SELECT'))
        void queries.invalidateQueries({ queryKey: schemaQuery(api, database).queryKey })
      const outcome: Outcome = { kind: 'results', results, ms: performance.now() - startedAt }
      return { outcome, said: results.map(summaryOf).join('; ') }
    })
  }
  const explain = () => {
    const selected = editor.current?.selected()
    if (selected === undefined || running !== null) return
    const statement = statementAt(selected.text, selected.cursor - selected.from)
    if (statement === null) {
      setOutcome({ kind: 'error', error: new Error(EXPLAIN_ALONE), place: null })
      return
    }
    void attempt([], statement.sql, async (signal) => {
      const { json, isMeasured } = await explainSql(api, database, statement, { signal })
      return { outcome: { kind: 'plan', plan: planOf(json), isMeasured }, said: 'explained' }
    })
  }
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-[16rem_minmax(0,1fr)]">
      <SchemaBrowser
        database={database}
        onInsert={(text) => editor.current?.insert(text)}
        onOpen={(sql) => {
          editor.current?.replace(sql)
          run()
        }}
      />
      <div className="order-first flex min-w-0 flex-col gap-3 lg:order-none">
        <Editor initial={history.runs[0]?.sql ?? ''} names={names} onRun={run} handle={editor} />
        <div className="flex flex-wrap items-center gap-2">
          <Button look="primary" icon={<Play size={15} aria-hidden />} busy={running !== null} onClick={run}>
            Run
          </Button>
          {running !== null && (
            <Button icon={<Square size={14} aria-hidden />} onClick={() => running.abort()}>
              Cancel
            </Button>
          )}
          <Button icon={<Route size={15} aria-hidden />} disabled={running !== null} onClick={explain}>
            Explain
          </Button>
          <Button
            look="quiet"
            icon={<History size={15} aria-hidden />}
            aria-expanded={isHistoryOpen}
            onClick={() => setHistoryOpen(!isHistoryOpen)}
          >
            History
          </Button>
          <span className="text-xs text-muted">
            Ctrl+Enter runs the selection, or all of it. Several statements are one transaction.
          </span>
        </div>
        {isHistoryOpen && (
          <PastRuns
            runs={history.runs}
            onClear={history.clear}
            onChoose={({ sql }) => {
              editor.current?.replace(sql)
              setHistoryOpen(false)
            }}
          />
        )}
        <div aria-live="polite" className="flex min-w-0 flex-col gap-4">
          {outcome !== null && <OutcomeView outcome={outcome} />}
        </div>
      </div>
    </div>
  )
}

/** The names for the completion. */
function useNames(database: DatabaseInfo): SchemaNames {
  const { data: tables } = useQuery(schemaQuery(useApi(), database))
  return useMemo(
    () => Object.fromEntries((tables ?? []).map((table) => [fullName(table), table.columns.map(({ name }) => name)])),
    [tables],
  )
}

/** E.g. `UPDATE 3`. */
function summaryOf({ command, rows, columns, rows_affected: affected, truncated }: Result): string {
  if (columns.length > 0) return `${truncated ? 'more than ' : ''}${rows.length} ${rows.length === 1 ? 'row' : 'rows'}`
  return affected === null ? command || 'done' : `${command} ${affected}`
}

function OutcomeView({ outcome }: { readonly outcome: Outcome }) {
  switch (outcome.kind) {
    case 'error':
      return <SqlError error={outcome.error} place={outcome.place} />
    case 'plan':
      return <PlanView plan={outcome.plan} isMeasured={outcome.isMeasured} />
    case 'results':
      return outcome.results.map((result, index) => (
        // oxlint-disable-next-line react/no-array-index-key
        <section key={index} aria-label={`Result ${index + 1}`} className="flex min-w-0 flex-col gap-2">
          <p className="text-muted">
            {summaryOf(result)}, {duration(result.duration_ms)}
            {index === outcome.results.length - 1 && ` (${duration(outcome.ms)} with the network)`}
            {result.truncated && `. Only the first ${result.rows.length} are shown.`}
          </p>
          {result.columns.length > 0 && <ResultTable result={result} label={`Rows of result ${index + 1}`} />}
        </section>
      ))
  }
}

function SqlError({ error, place }: { readonly error: unknown; readonly place: string | null }) {
  const { hint, code } = (error instanceof ApiError ? error.body : {}) as Partial<Record<string, string | null>>
  const notes = [
    place === null ? null : `At ${place}.`,
    hint ? `Hint: ${hint}` : null,
    code ? `SQLSTATE ${code}` : null,
  ]
  return (
    <div className="flex flex-col gap-2">
      <ErrorText error={error} />
      <p className="plaintext text-muted">{notes.filter(Boolean).join(' ')}</p>
    </div>
  )
}

interface PastRunsProps {
  readonly runs: readonly PastRun[]
  readonly onChoose: (run: PastRun) => void
  readonly onClear: () => void
}

function PastRuns({ runs, onChoose, onClear }: PastRunsProps) {
  if (runs.length === 0) return <p className="text-muted">Nothing was run here yet.</p>
  return (
    <section aria-label="History" className="rounded-lg border bg-surface">
      <ul className="max-h-64 divide-y overflow-auto">
        {runs.map((run) => (
          <li key={`${run.at} ${run.sql}`}>
            <button
              type="button"
              className="flex w-full cursor-pointer items-baseline gap-3 px-3 py-1.5 text-left hover:bg-raised"
              onClick={() => onChoose(run)}
            >
              <code className="plaintext min-w-0 grow truncate text-xs">{run.sql.slice(0, 300)}</code>
              <span className="plaintext hidden max-w-48 shrink-0 truncate text-xs text-muted sm:inline">
                {run.outcome}
              </span>
              <span className="shrink-0 text-xs text-muted">
                <Time at={new Date(run.at).toISOString()} />
              </span>
            </button>
          </li>
        ))}
      </ul>
      <footer className="flex items-center justify-between border-t px-3 py-1.5 text-xs text-muted">
        Kept in this browser only.
        <Button small look="quiet" onClick={onClear}>
          Clear
        </Button>
      </footer>
    </section>
  )
}

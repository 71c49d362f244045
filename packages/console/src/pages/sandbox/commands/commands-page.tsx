import type { BackgroundExec, Sandbox } from '@offshoot/sdk'
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Play, RefreshCw, SquareTerminal } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { useApi } from '../../../session/session.tsx'
import { Badge } from '../../../ui/badge.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { classes } from '../../../ui/classes.ts'
import { ErrorText, Panel } from '../../../ui/error-panel.tsx'
import { Area, Check, Choice, Field, Input } from '../../../ui/field.tsx'
import { Section } from '../../../ui/page.tsx'
import { QueryView } from '../../../ui/query-view.tsx'
import { Time } from '../../../ui/time.tsx'
import { sandboxQuery } from '../../sandboxes/sandbox-queries.ts'
import { NotRunning } from '../not-running.tsx'
import { useSandboxHandle } from '../sandbox-handle.ts'
import { CommandView } from './command-view.tsx'
import { execsQuery } from './exec-queries.ts'

const route = getRouteApi('/member/sandboxes/$id/commands')

/** Commands that run on their own, and those that have ended, with their output. */
export function CommandsPage() {
  const { id } = route.useParams()
  const { data: sandbox } = useSuspenseQuery(sandboxQuery(useApi(), id))
  return (
    <NotRunning sandbox={sandbox} what="Running commands">
      <Commands key={id} />
    </NotRunning>
  )
}

function Commands() {
  const { id } = route.useParams()
  const { exec } = route.useSearch()
  const navigate = route.useNavigate()
  const sandbox = useSandboxHandle(id)
  const query = useQuery(execsQuery(sandbox))
  const show = (execId: string | undefined) => void navigate({ search: execId === undefined ? {} : { exec: execId } })
  const chosen = query.data?.find(({ execId }) => execId === exec)
  return (
    <div className="flex flex-col gap-4">
      <Start sandbox={sandbox} onStarted={show} />
      <div className="grid items-start gap-4 lg:grid-cols-[22rem_minmax(0,1fr)]">
        <Section
          title="Commands"
          actions={
            <IconButton
              small
              label="Read again"
              icon={<RefreshCw size={14} aria-hidden />}
              busy={query.isFetching}
              onClick={() => void query.refetch()}
            />
          }
        >
          <QueryView query={query}>{(execs) => <List execs={execs} shown={exec} onShow={show} />}</QueryView>
        </Section>
        {chosen === undefined ? (
          <Panel icon={<SquareTerminal size={28} aria-hidden />} title="No command is chosen">
            <p className="text-muted">Its output appears here.</p>
          </Panel>
        ) : (
          <CommandView key={chosen.execId} sandbox={sandbox} exec={chosen} onDeleted={() => show(undefined)} />
        )}
      </div>
    </div>
  )
}

interface ListProps {
  readonly execs: readonly BackgroundExec[]
  readonly shown: string | undefined
  readonly onShow: (execId: string) => void
}

function List({ execs, shown, onShow }: ListProps) {
  if (execs.length === 0) return <p className="text-muted">Nothing was started yet.</p>
  const newest = execs.toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
  return (
    <ul className="-m-2 flex max-h-[60dvh] flex-col overflow-auto">
      {newest.map(({ execId, cmd, status, exitCode, startedAt }) => (
        <li key={execId}>
          <button
            type="button"
            aria-current={execId === shown}
            onClick={() => onShow(execId)}
            className={classes(
              'flex w-full cursor-pointer flex-col gap-1 rounded-md p-2 text-left hover:bg-raised',
              execId === shown && '!bg-accent-soft',
            )}
          >
            <span className="plaintext line-clamp-2 font-mono text-xs">{cmd}</span>
            <span className="flex items-center gap-2 text-xs text-muted">
              <Badge tone={status === 'running' ? 'accent' : exitCode === 0 ? 'good' : 'bad'}>
                {status === 'running' ? 'running' : `exit ${exitCode}`}
              </Badge>
              <Time at={startedAt} />
            </span>
          </button>
        </li>
      ))}
    </ul>
  )
}

type Mode = 'shell' | 'program'

function Start({ sandbox, onStarted }: { readonly sandbox: Sandbox; readonly onStarted: (execId: string) => void }) {
  const queries = useQueryClient()
  const [mode, setMode] = useState<Mode>('shell')
  const [line, setLine] = useState('')
  const [cwd, setCwd] = useState('')
  const [user, setUser] = useState('')
  const [stdinOpen, setStdinOpen] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const start = async () => {
    setBusy(true)
    setError(null)
    try {
      const started = await sandbox.commands.start(mode === 'shell' ? line : line.split('\n').filter(Boolean), {
        stdinOpen,
        ...(cwd !== '' && { cwd }),
        ...(user !== '' && { user }),
      })
      await queries.invalidateQueries({ queryKey: execsQuery(sandbox).queryKey })
      onStarted(started.id)
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  const send = (event: FormEvent) => {
    event.preventDefault()
    void start()
  }
  return (
    <Section title="Run a command">
      <form onSubmit={send} className="flex flex-col gap-3">
        <div className="grid gap-3 sm:grid-cols-[1fr_8rem_12rem]">
          {mode === 'shell' ? (
            <Field label="Command">
              <Input value={line} onValueChange={setLine} className="font-mono" spellCheck={false} required />
            </Field>
          ) : (
            <Field label="Program and arguments" hint="One per line.">
              <Area value={line} onChange={(event) => setLine(event.currentTarget.value)} spellCheck={false} required />
            </Field>
          )}
          <Field label="Run">
            <Choice
              options={[
                { value: 'shell', label: 'in a shell' },
                { value: 'program', label: 'directly' },
              ]}
              value={mode}
              onChoose={(value) => setMode(value as Mode)}
            />
          </Field>
          <Field label="Folder">
            <Input value={cwd} onValueChange={setCwd} placeholder="the user's home" spellCheck={false} />
          </Field>
        </div>
        <div className="flex flex-wrap items-end gap-3">
          <Field label="User" className="w-40">
            <Input value={user} onValueChange={setUser} placeholder="root" spellCheck={false} />
          </Field>
          <Check
            className="pb-2"
            label="Keep its input open"
            checked={stdinOpen}
            toggle={() => setStdinOpen(!stdinOpen)}
          />
          <Button
            type="submit"
            look="primary"
            busy={isBusy}
            icon={<Play size={15} aria-hidden />}
            className="ml-auto"
            disabled={line.trim() === ''}
          >
            Run
          </Button>
        </div>
        {error !== null && <ErrorText error={error} />}
      </form>
    </Section>
  )
}

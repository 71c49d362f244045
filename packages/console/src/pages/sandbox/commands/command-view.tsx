import { type BackgroundExec, type Command, NotFoundError, type Sandbox } from '@offshoot/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { Trash2, Zap } from 'lucide-react'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useIsDark } from '../../../layout/theme.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { useConfirm } from '../../../ui/confirm.tsx'
import { ErrorText } from '../../../ui/error-panel.tsx'
import { INPUT_CLASSES } from '../../../ui/field.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { Section } from '../../../ui/page.tsx'
import { bytes, duration, Time } from '../../../ui/time.tsx'
import { useTell } from '../../../ui/toasts.tsx'
import { usePreferences } from '../terminal/preferences.ts'
import type { XtermScreen } from '../terminal/xterm.ts'
import { execsQuery } from './exec-queries.ts'

interface CommandViewProps {
  readonly sandbox: Sandbox
  readonly exec: BackgroundExec
  readonly onDeleted: () => void
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const

/** One command with its output as it appears. */
export function CommandView({ sandbox, exec, onDeleted }: CommandViewProps) {
  const queries = useQueryClient()
  const tell = useTell()
  const confirm = useConfirm()
  const { execId, cmd, status, exitCode, startedAt, endedAt } = exec
  const isRunning = status === 'running'
  const readAgain = async () => queries.invalidateQueries({ queryKey: execsQuery(sandbox).queryKey })
  const withCommand = async (act: (command: Command) => Promise<unknown>) => {
    await act(await sandbox.commands.get(execId))
    await readAgain()
  }
  const remove = () =>
    confirm({
      title: 'Forget this command?',
      description: isRunning ? 'It is ended, and its output is lost.' : 'Its output is lost.',
      action: 'Forget',
      run: async () => {
        await withCommand(async (command) => command.delete()).catch((error: unknown) => {
          if (!(error instanceof NotFoundError)) throw error
        })
        onDeleted()
      },
    })
  return (
    <Section
      title="Output"
      actions={
        <>
          {isRunning && (
            <Menu
              trigger={
                <Button small icon={<Zap size={14} aria-hidden />}>
                  Send a signal
                </Button>
              }
              groups={[
                SIGNALS.map((signal) => ({
                  label: signal,
                  run: () => void tell.whether(withCommand(async (command) => command.signal(signal))),
                })),
              ]}
            />
          )}
          <IconButton small label="Forget" icon={<Trash2 size={14} aria-hidden />} onClick={remove} />
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <p className="plaintext max-h-24 overflow-auto font-mono text-xs">{cmd}</p>
        <p className="flex flex-wrap items-center gap-x-4 gap-y-1 text-muted" role="status">
          <Badge tone={isRunning ? 'accent' : exitCode === 0 ? 'good' : 'bad'}>
            {isRunning ? 'running' : `exit code ${exitCode}`}
          </Badge>
          <span>
            started <Time at={startedAt} />
          </span>
          {endedAt !== null && <span>ran {duration(Date.parse(endedAt) - Date.parse(startedAt))}</span>}
          <span>process {exec.pid}</span>
          <span>{bytes(exec.outputBytes)} of output</span>
        </p>
        <Output sandbox={sandbox} execId={execId} onEnd={readAgain} />
        {isRunning && (
          <InputLine
            onLine={(line) => void tell.whether(withCommand(async (command) => command.write(line)))}
            onClose={() => void tell.whether(withCommand(async (command) => command.closeStdin()))}
          />
        )}
      </div>
    </Section>
  )
}

interface OutputProps {
  readonly sandbox: Sandbox
  readonly execId: string
  readonly onEnd: () => Promise<unknown>
}

/** The output in a terminal that takes no input, so that colours and moves of the cursor appear as meant. */
function Output({ sandbox, execId, onEnd }: OutputProps) {
  const element = useRef<HTMLDivElement>(null)
  const screen = useRef<XtermScreen | null>(null)
  const latest = useRef(onEnd)
  const [error, setError] = useState<unknown>(null)
  const [missing, setMissing] = useState(0)
  const isDark = useIsDark()
  const [{ fontSize, screenReader }] = usePreferences()
  const options = useRef({ isDark, fontSize, screenReader })
  useEffect(() => {
    options.current = { isDark, fontSize, screenReader }
    latest.current = onEnd
    screen.current?.set(options.current)
  }, [isDark, fontSize, screenReader, onEnd])
  useEffect(() => {
    const leave = new AbortController()
    const show = async () => {
      const { XtermScreen: Screen } = await import('../terminal/xterm.ts')
      if (element.current === null || leave.signal.aborted) return
      const made = new Screen(element.current, options.current, true)
      screen.current = made
      leave.signal.addEventListener('abort', () => made.dispose())
      const command = await sandbox.commands.get(execId)
      const output = command.output({
        encoding: 'bytes',
        signal: leave.signal,
        onGap: ({ from, to }) => setMissing((before) => before + to - from),
      })
      for await (const { data } of output) {
        // The service waits while the screen is behind.
        await new Promise<void>((resolve) => made.write(data, resolve))
      }
      await latest.current()
    }
    show().catch((failure: unknown) => {
      if (!leave.signal.aborted) setError(failure)
    })
    return () => leave.abort()
  }, [sandbox, execId])
  return (
    <>
      {missing > 0 && (
        <p role="status" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
          {bytes(missing)} of earlier output are no longer kept.
        </p>
      )}
      {error !== null && <ErrorText error={error} />}
      <div ref={element} className="h-[50dvh] min-h-40 overflow-hidden rounded-md border p-1" />
    </>
  )
}

interface InputLineProps {
  readonly onLine: (line: string) => void
  readonly onClose: () => void
}

function InputLine({ onLine, onClose }: InputLineProps) {
  const [line, setLine] = useState('')
  const send = (event: FormEvent) => {
    event.preventDefault()
    onLine(`${line}\n`)
    setLine('')
  }
  return (
    <form onSubmit={send} className="flex flex-wrap gap-2">
      <input
        aria-label="Input for the command"
        placeholder="Input for the command"
        value={line}
        onChange={({ currentTarget }) => setLine(currentTarget.value)}
        spellCheck={false}
        className={`${INPUT_CLASSES} !w-0 min-w-40 grow font-mono`}
      />
      <Button type="submit">Send line</Button>
      <Button onClick={onClose}>Close input</Button>
    </form>
  )
}

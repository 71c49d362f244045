import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Choice, Field, Input } from '../../ui/field.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Section } from '../../ui/page.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { bytes, duration } from '../../ui/time.tsx'
import { type ChangedFile, changedFiles, groups, type Outcome, runInAll } from './comparison.ts'
import type { Relative } from './family.ts'
import { TextDiff } from './text-diff.tsx'

/** Runs one command in several sandboxes, and shows where they differ. */
export function CommandComparison({ leaves }: { readonly leaves: readonly Relative[] }) {
  const api = useApi()
  const [command, setCommand] = useState('')
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map())
  const [running, setRunning] = useState<AbortController | null>(null)
  const run = async () => {
    const stop = new AbortController()
    setRunning(stop)
    setOutcomes(new Map())
    const report = (id: string, outcome: Outcome) => setOutcomes((old) => new Map(old).set(id, outcome))
    const ids = leaves.map(({ id }) => id)
    await runInAll(api, ids, command, report, stop.signal).finally(() => setRunning(null))
  }
  const known = leaves.filter(({ id }) => outcomes.has(id))
  return (
    <Section title={`Run a command in ${leaves.length === 1 ? 'one sandbox' : `${leaves.length} sandboxes`}`}>
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <Field label="Command" className="min-w-60 grow">
          <Input
            value={command}
            onValueChange={setCommand}
            className="font-mono"
            spellCheck={false}
            autoComplete="off"
          />
        </Field>
        {running === null ? (
          <Button type="submit" look="primary" disabled={command.trim() === '' || leaves.length === 0}>
            Run
          </Button>
        ) : (
          <Button look="danger" onClick={() => running.abort()}>
            Stop
          </Button>
        )}
      </form>
      {known.length > 0 && <Outcomes relatives={known} outcomes={outcomes} />}
    </Section>
  )
}

interface OutcomesProps {
  readonly relatives: readonly Relative[]
  readonly outcomes: ReadonlyMap<string, Outcome>
}

function Outcomes({ relatives, outcomes }: OutcomesProps) {
  const groupOf = new Map(groups(outcomes).flatMap((ids, index) => ids.map((id) => [id, index] as const)))
  const columns: readonly Column<Relative>[] = [
    { title: 'Sandbox', cell: ({ name }) => <span className="plaintext">{name}</span> },
    { title: 'Result', cell: ({ id }) => <ResultBadge outcome={outcomes.get(id)} /> },
    { title: 'Same output', cell: ({ id }) => letter(groupOf.get(id) ?? 0) },
    {
      title: 'Duration',
      right: true,
      cell: ({ id }) => {
        const outcome = outcomes.get(id)
        return outcome?.state === 'ended' ? duration(outcome.durationMs) : ''
      },
    },
    { title: 'Output', wide: true, cell: ({ id }) => <FirstLine outcome={outcomes.get(id)} /> },
  ]
  return (
    <div className="mt-4 flex flex-col gap-4">
      <Table label="Results" columns={columns} rows={relatives} idOf={({ id }) => id} />
      {relatives.length > 1 && <OutputDiff relatives={relatives} outcomes={outcomes} />}
    </div>
  )
}

/** A, B, C, … for the groups of equal results. */
const letter = (index: number) => (index < 26 ? String.fromCodePoint(65 + index) : String(index + 1))

function ResultBadge({ outcome }: { readonly outcome: Outcome | undefined }) {
  switch (outcome?.state) {
    case 'ended':
      return <Badge tone={outcome.exitCode === 0 ? 'good' : 'bad'}>exit code {outcome.exitCode ?? 'unknown'}</Badge>
    case 'failed':
      return <Badge tone="bad">could not run</Badge>
    case 'running':
    case undefined:
      return <Badge tone="accent">running</Badge>
  }
}

function FirstLine({ outcome }: { readonly outcome: Outcome | undefined }) {
  if (outcome?.state === 'failed') return <ErrorText error={outcome.error} />
  if (outcome?.state !== 'ended') return null
  const line = (outcome.stdout || outcome.stderr).trim().split('\n').at(-1) ?? ''
  return <code className="plaintext line-clamp-1 max-w-96 text-xs">{line.slice(0, 500)}</code>
}

const textOf = (outcome: Outcome | undefined) =>
  outcome?.state === 'ended'
    ? outcome.stdout + (outcome.stderr === '' ? '' : `\n--- stderr ---\n${outcome.stderr}`)
    : ''

function OutputDiff({ relatives, outcomes }: OutcomesProps) {
  const options = relatives.map(({ id, name }) => ({ value: id, label: name }))
  const [left, setLeft] = useState(options[0]?.value ?? '')
  const other = options.find(({ value }) => textOf(outcomes.get(value)) !== textOf(outcomes.get(left)))
  const [chosenRight, setRight] = useState<string | null>(null)
  const right = chosenRight ?? other?.value ?? options[1]?.value ?? ''
  return (
    <div className="flex flex-col gap-2">
      <div className="grid grid-cols-2 gap-2">
        <Field label="Output of">
          <Choice options={options} value={left} onChoose={setLeft} />
        </Field>
        <Field label="beside that of">
          <Choice options={options} value={right} onChoose={setRight} />
        </Field>
      </div>
      <TextDiff left={textOf(outcomes.get(left))} right={textOf(outcomes.get(right))} />
    </div>
  )
}

type FilesState =
  | { readonly state: 'none' | 'reading' }
  | { readonly state: 'failed'; readonly error: unknown }
  | { readonly state: 'read'; readonly files: ReadonlyMap<string, ReadonlyMap<string, ChangedFile>> }

/** The files that the sandboxes changed since they were made. */
export function FileComparison({ leaves }: { readonly leaves: readonly Relative[] }) {
  const api = useApi()
  const [found, setFound] = useState<FilesState>({ state: 'none' })
  const read = async () => {
    setFound({ state: 'reading' })
    try {
      const { signal } = new AbortController()
      const each = await Promise.all(
        leaves.map(
          async ({ id, createdAt }) => [id, await changedFiles(api, id, new Date(createdAt), signal)] as const,
        ),
      )
      setFound({ state: 'read', files: new Map(each) })
    } catch (error) {
      setFound({ state: 'failed', error })
    }
  }
  return (
    <Section
      title="Changed files"
      actions={
        <Button small busy={found.state === 'reading'} disabled={leaves.length === 0} onClick={() => void read()}>
          Compare
        </Button>
      }
    >
      {found.state === 'failed' && <ErrorText error={found.error} />}
      {found.state === 'read' ? (
        <Files leaves={leaves.filter(({ id }) => found.files.has(id))} files={found.files} />
      ) : (
        <p className="text-muted">Lists the files whose content changed since each sandbox was made.</p>
      )}
    </Section>
  )
}

/** Files that are shown. */
const MAX_FILES = 2000

interface FilesProps {
  readonly leaves: readonly Relative[]
  readonly files: ReadonlyMap<string, ReadonlyMap<string, ChangedFile>>
}

function Files({ leaves, files }: FilesProps) {
  const [path, setPath] = useState<string | null>(null)
  const names = [...new Set([...files.values()].flatMap((each) => [...each.keys()]))].toSorted().slice(0, MAX_FILES)
  if (names.length === 0) return <p className="text-muted">None of them changed a file.</p>
  const columns: readonly Column<string>[] = [
    {
      title: 'File',
      cell: (name) => (
        <button
          type="button"
          className="plaintext cursor-pointer text-left font-mono text-xs text-accent"
          onClick={() => setPath(name)}
        >
          {name}
        </button>
      ),
    },
    ...leaves.map(({ id, name: title }): Column<string> => ({
      title,
      right: true,
      cell: (name) => {
        const file = files.get(id)?.get(name)
        return file === undefined ? '' : bytes(file.size)
      },
    })),
  ]
  return (
    <div className="flex flex-col gap-4">
      <Table label="Changed files" columns={columns} rows={names} idOf={(name) => name} />
      {path !== null && <FileDiff key={path} path={path} leaves={leaves} />}
    </div>
  )
}

/** Bytes of a file up to which it is compared. */
const MAX_DIFF_BYTES = 1024 * 1024

function FileDiff({ path, leaves }: { readonly path: string; readonly leaves: readonly Relative[] }) {
  const api = useApi()
  const options = leaves.map(({ id, name }) => ({ value: id, label: name }))
  const [left, setLeft] = useState('')
  const [right, setRight] = useState('')
  const [texts, setTexts] = useState<ReadonlyMap<string, string>>(new Map())
  const [error, setError] = useState<unknown>(null)
  const load = async (id: string) => {
    if (texts.has(id)) return
    try {
      const sandbox = await api.sandboxes.get(id)
      const { size } = await sandbox.files.stat(path)
      const text = size > MAX_DIFF_BYTES ? `(${bytes(size)}: too large to compare)` : await sandbox.files.read(path)
      setTexts((old) => new Map(old).set(id, text))
    } catch (failure) {
      if ((failure as { status?: number }).status === 404) setTexts((old) => new Map(old).set(id, ''))
      else setError(failure)
    }
  }
  const choose = (set: (id: string) => void) => (id: string) => {
    set(id)
    if (id !== '') void load(id)
  }
  const chooser = [{ value: '', label: 'Choose…' }, ...options]
  return (
    <div className="flex flex-col gap-2">
      <h3 className="plaintext font-mono text-xs">{path}</h3>
      <div className="grid grid-cols-2 gap-2">
        <Field label="In">
          <Choice options={chooser} value={left} onChoose={choose(setLeft)} />
        </Field>
        <Field label="beside">
          <Choice options={chooser} value={right} onChoose={choose(setRight)} />
        </Field>
      </div>
      {error !== null && <ErrorText error={error} />}
      {left !== '' && right !== '' && <TextDiff left={texts.get(left) ?? ''} right={texts.get(right) ?? ''} />}
    </div>
  )
}

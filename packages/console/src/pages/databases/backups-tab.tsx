import type { DatabaseBackup, DatabaseInfo, Offshoot } from '@offshoot/sdk'
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Archive, GitBranch, RotateCcw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { bytes, Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { BranchDialog } from './branch-dialog.tsx'
import { backupsQuery, CREATE_TIMEOUT_MS, databaseQuery, nameOf, statsQuery } from './database-queries.ts'
import { localTime, type RestoreSpan, stepOf } from './restore-time.ts'

const route = getRouteApi('/member/databases/$id')

const VERIFIED: Record<DatabaseBackup['verified'], { readonly tone: Tone; readonly text: string }> = {
  pending: { tone: 'accent', text: 'not yet verified' },
  ok: { tone: 'good', text: 'verified' },
  failed: { tone: 'bad', text: 'verification failed' },
}

const makeBackup = async (api: Offshoot, id: string) =>
  (await api.databases.get(id)).backups.create({ timeoutMs: CREATE_TIMEOUT_MS })

/** Backups, and the way back to any time since the oldest one. */
export function BackupsTab() {
  const { id } = route.useParams()
  const api = useApi()
  const { data: database } = useSuspenseQuery(databaseQuery(api, id))
  const query = useQuery(backupsQuery(api, id))
  const tell = useTell()
  const [isMaking, setMaking] = useState(false)
  const make = async () => {
    setMaking(true)
    await tell.whether(makeBackup(api, id), 'The backup is made')
    await query.refetch()
    setMaking(false)
  }
  const button = (
    <Button icon={<Archive size={15} aria-hidden />} busy={isMaking} onClick={() => void make()}>
      Back up now
    </Button>
  )
  return (
    <QueryView query={query}>
      {(backups) => (
        <div className="flex flex-col gap-5">
          <Section title="Restore to a time">
            {backups.length === 0 ? (
              <p className="text-muted">
                Any time since the oldest backup can be restored. The first backup is made ten minutes after the
                database.
              </p>
            ) : (
              <Restore database={database} backups={backups} />
            )}
          </Section>
          <Section title="Backups" actions={button}>
            {backups.length === 0 ? (
              <p className="text-muted">No backups yet. One is made each day, and the newest seven are kept.</p>
            ) : (
              <Backups database={database} backups={backups} />
            )}
          </Section>
        </div>
      )}
    </QueryView>
  )
}

interface BackupsProps {
  readonly database: DatabaseInfo
  readonly backups: readonly DatabaseBackup[]
}

interface BackupActions {
  readonly branch: (backup: DatabaseBackup) => void
  readonly remove: (backup: DatabaseBackup) => void
}

const columnsFor = ({ branch, remove }: BackupActions): readonly Column<DatabaseBackup>[] => [
  { title: 'Made', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'By', wide: true, cell: ({ origin }) => (origin === 'daily' ? 'the schedule' : 'a user') },
  { title: 'Size', cell: ({ sizeBytes }) => bytes(sizeBytes) },
  { title: 'Trial restore', cell: (backup) => <Verified backup={backup} /> },
  {
    title: 'Actions',
    right: true,
    cell: (backup) => (
      <span className="inline-flex gap-1">
        <IconButton
          small
          label="Branch from this backup"
          icon={<GitBranch size={14} aria-hidden />}
          onClick={() => branch(backup)}
        />
        <IconButton
          small
          label="Delete this backup"
          icon={<Trash2 size={14} aria-hidden />}
          onClick={() => remove(backup)}
        />
      </span>
    ),
  },
]

function Backups({ database, backups }: BackupsProps) {
  const api = useApi()
  const confirm = useConfirm()
  const [branched, setBranched] = useState<DatabaseBackup | null>(null)
  const remove = (backup: DatabaseBackup) =>
    confirm({
      title: 'Delete this backup?',
      description: 'If it is the oldest one, the times before the next backup cannot be restored any more.',
      action: 'Delete',
      run: async () => (await api.databases.get(database.id)).backups.delete(backup),
    })
  const columns = columnsFor({ branch: setBranched, remove })
  return (
    <>
      <Table label="Backups" columns={columns} rows={backups} idOf={({ id }) => id} />
      {branched !== null && <BranchDialog database={database} at={branched} onClose={() => setBranched(null)} />}
    </>
  )
}

function Verified({ backup: { verified, verifyError } }: { readonly backup: DatabaseBackup }) {
  const { tone, text } = VERIFIED[verified]
  return (
    <span className="flex flex-col items-start gap-1">
      <Badge tone={tone}>{text}</Badge>
      {verifyError !== null && <span className="plaintext text-xs text-bad">{verifyError}</span>}
    </span>
  )
}

function Restore({ database, backups }: BackupsProps) {
  const api = useApi()
  const navigate = useNavigate()
  const stats = useQuery(statsQuery(api, database.id))
  // The end stays where it was when the page was opened. A later time can be typed.
  const [openedAt] = useState(() => Date.now())
  const span: RestoreSpan = { from: Math.min(...backups.map(({ createdAt }) => Date.parse(createdAt))), to: openedAt }
  const [chosen, setChosen] = useState(span.to)
  const [label, setLabel] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const restore = async () => {
    setBusy(true)
    setError(null)
    try {
      const name =
        label.trim() || `${database.label ?? database.id.slice(0, 8)} at ${localTime(chosen).replace('T', ' ')}`
      const made = await (
        await api.databases.get(database.id)
      ).restore({ time: new Date(chosen).toISOString(), label: name, timeoutMs: CREATE_TIMEOUT_MS })
      await navigate({ to: '/databases/$id', params: { id: made.id } })
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const gapAt = stats.data?.archive.gapAt ?? null
  return (
    <div className="flex flex-col gap-4">
      <div>
        <input
          type="range"
          aria-label="Time to restore"
          aria-valuetext={new Date(chosen).toLocaleString()}
          min={span.from}
          max={Math.max(span.to, chosen)}
          step={stepOf(span)}
          value={chosen}
          onChange={({ currentTarget }) => setChosen(Number(currentTarget.value))}
          className="w-full accent-(--accent)"
        />
        <div className="flex justify-between text-xs text-muted">
          <span>
            oldest backup: <Time at={new Date(span.from).toISOString()} />
          </span>
          <span>now</span>
        </div>
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Exactly" hint="In the time zone of this browser.">
          <Input
            type="datetime-local"
            step={1}
            value={localTime(chosen)}
            onValueChange={(text) => {
              const ms = Date.parse(text)
              if (!Number.isNaN(ms)) setChosen(ms)
            }}
          />
        </Field>
        <Field label="Name of the restored database">
          <Input value={label} onValueChange={setLabel} maxLength={128} placeholder={`${nameOf(database)} at …`} />
        </Field>
      </div>
      {gapAt !== null && (
        <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
          The archive lost a part at {new Date(gapAt).toLocaleString()}. Times between then and the next backup cannot
          be restored.
        </p>
      )}
      {error !== null && <ErrorText error={error} />}
      <div className="flex flex-wrap items-center gap-3">
        <Button look="primary" icon={<RotateCcw size={15} aria-hidden />} busy={isBusy} onClick={() => void restore()}>
          Restore to {new Date(chosen).toLocaleString()}
        </Button>
        <span className="text-xs text-muted">It makes another database. This one stays as it is.</span>
      </div>
    </div>
  )
}

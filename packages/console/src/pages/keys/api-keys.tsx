import type { CreatedKey, Key } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../session/session.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { OnceDialog } from '../../ui/dialog.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Snippet } from '../../ui/snippet.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { useMemberNames } from '../members/member-queries.ts'
import { CreateKeyDialog } from './create-key-dialog.tsx'
import { examplesFor } from './examples.ts'
import { keysQuery } from './key-queries.ts'
import { describeScopes } from './scopes.ts'

/** The API keys of the workspace. */
export function ApiKeys() {
  const { api, can } = useSession()
  const query = useQuery(keysQuery(api))
  const [isCreating, setCreating] = useState(false)
  const [created, setCreated] = useState<CreatedKey | null>(null)
  const create = (
    <Button look="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      New key
    </Button>
  )
  return (
    <Section
      title={can('tokens:manage') ? 'API keys of the workspace' : 'Your API keys'}
      actions={
        <>
          {query.data?.length !== 0 && <RevokeOwn />}
          {query.data?.length !== 0 && create}
        </>
      }
    >
      <QueryView query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <Panel icon={<KeyRound size={28} aria-hidden />} title="No keys yet">
              <p className="max-w-prose text-muted">
                Programs, the command line and agents use the service with a key.
              </p>
              {create}
            </Panel>
          ) : (
            <List keys={keys} />
          )
        }
      </QueryView>
      {isCreating && <CreateKeyDialog onCreated={setCreated} onClose={() => setCreating(false)} />}
      {created !== null && <CreatedKeyDialog created={created} onClose={() => setCreated(null)} />}
    </Section>
  )
}

function List({ keys }: { readonly keys: readonly Key[] }) {
  const { api } = useSession()
  const confirm = useConfirm()
  const queries = useQueryClient()
  const nameOf = useMemberNames()
  const revoke = ({ name, prefix }: Key) =>
    confirm({
      title: 'Revoke this key?',
      description: `Programs that use "${name}" (${prefix}…) lose access within a second. This cannot be undone.`,
      action: 'Revoke',
      run: async () => {
        await api.keys.delete(prefix)
        await queries.invalidateQueries({ queryKey: ['key'] })
      },
    })
  const columns: readonly Column<Key>[] = [
    {
      title: 'Name',
      cell: ({ name, prefix, expiresAt }) => (
        <span className="flex flex-wrap items-center gap-2">
          <span className="plaintext font-medium">{name}</span>
          <span className="font-mono text-xs text-muted">{prefix}…</span>
          {isPast(expiresAt) && <Badge tone="bad">expired</Badge>}
        </span>
      ),
    },
    { title: 'Opens', wide: true, cell: ({ scopes }) => describeScopes(scopes) },
    { title: 'Made by', wide: true, cell: ({ createdBy }) => nameOf(createdBy) },
    {
      title: 'Last used',
      wide: true,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
    },
    { title: 'Ends', wide: true, cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} />) },
    {
      title: 'Actions',
      right: true,
      cell: (key) => (
        <Button small look="danger" aria-label={`Revoke ${key.name}`} onClick={() => revoke(key)}>
          Revoke
        </Button>
      ),
    },
  ]
  return <Table label="API keys" columns={columns} rows={keys} idOf={({ prefix }) => prefix} />
}

const isPast = (at: string | null) => at !== null && new Date(at) < new Date()

function RevokeOwn() {
  const { api } = useSession()
  const confirm = useConfirm()
  const queries = useQueryClient()
  const ask = () =>
    confirm({
      title: 'Revoke all keys that you made?',
      description: 'In every workspace. Programs that use them lose access within a second. This cannot be undone.',
      action: 'Revoke all of mine',
      run: async () => {
        await api.keys.deleteAll()
        await queries.invalidateQueries({ queryKey: ['key'] })
      },
    })
  return (
    <Button look="danger" onClick={ask}>
      Revoke all of mine
    </Button>
  )
}

function CreatedKeyDialog({ created, onClose }: { readonly created: CreatedKey; readonly onClose: () => void }) {
  return (
    <OnceDialog
      wide
      title={`Key "${created.name}"`}
      description="Copy it now. The service keeps only a hash and cannot show it again."
      onClose={onClose}
    >
      <Snippet label="Key" text={created.token} />
      {examplesFor(location.origin, created.token).map(({ label, text }) => (
        <Snippet key={label} label={label} text={text} />
      ))}
    </OnceDialog>
  )
}

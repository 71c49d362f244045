import type { SshGateway, SshKey } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { Button } from '../../ui/button.tsx'
import { useConfirm } from '../../ui/confirm.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Panel } from '../../ui/error-panel.tsx'
import { Area, Field, Input } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Snippet } from '../../ui/snippet.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { sshGatewayQuery, sshKeysQuery } from './key-queries.ts'

/** The user's SSH keys, and how to use them. */
export function SshKeys() {
  const api = useApi()
  const query = useQuery(sshKeysQuery(api))
  const gateway = useQuery(sshGatewayQuery(api))
  const [isAdding, setAdding] = useState(false)
  const add = (
    <Button look="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
      Add a key
    </Button>
  )
  return (
    <Section title="Your SSH keys" actions={query.data?.length !== 0 && add}>
      <div className="flex min-w-0 flex-col gap-4">
        <QueryView query={query}>
          {(keys) =>
            keys.length === 0 ? (
              <Panel icon={<KeyRound size={28} aria-hidden />} title="No SSH keys yet">
                <p className="max-w-prose text-muted">
                  With your key, <code>ssh</code>, <code>scp</code> and <code>rsync</code> reach every sandbox of your
                  workspaces.
                </p>
                {add}
              </Panel>
            ) : (
              <List keys={keys} />
            )
          }
        </QueryView>
        <QueryView query={gateway}>{(found) => <Gateway gateway={found} />}</QueryView>
      </div>
      {isAdding && <AddSshKeyDialog onClose={() => setAdding(false)} />}
    </Section>
  )
}

function Gateway({ gateway: { host, port, knownHosts, hostKeyFingerprint } }: { readonly gateway: SshGateway }) {
  return (
    <div className="grid min-w-0 gap-3 lg:grid-cols-2">
      <Snippet label="Enter a sandbox" text={`ssh -p ${port} SANDBOX_ID@${host}`} />
      <Snippet label={`For ~/.ssh/known_hosts (${hostKeyFingerprint})`} text={knownHosts.trim()} />
    </div>
  )
}

function List({ keys }: { readonly keys: readonly SshKey[] }) {
  const api = useApi()
  const confirm = useConfirm()
  const queries = useQueryClient()
  const remove = (key: SshKey) =>
    confirm({
      title: 'Delete this SSH key?',
      description: `"${key.name}" opens no sandbox any more. Open connections end within a minute.`,
      action: 'Delete',
      run: async () => {
        await api.ssh.deleteKey(key)
        await queries.invalidateQueries({ queryKey: ['ssh_key'] })
      },
    })
  const columns: readonly Column<SshKey>[] = [
    { title: 'Name', cell: ({ name }) => <span className="plaintext font-medium">{name}</span> },
    {
      title: 'Fingerprint',
      wide: true,
      cell: ({ fingerprint }) => <span className="font-mono text-xs break-all">{fingerprint}</span>,
    },
    { title: 'Type', wide: true, cell: ({ type }) => type },
    {
      title: 'Last used',
      wide: true,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
    },
    {
      title: 'Actions',
      right: true,
      cell: (key) => (
        <Button small look="danger" aria-label={`Delete ${key.name}`} onClick={() => remove(key)}>
          Delete
        </Button>
      ),
    },
  ]
  return <Table label="SSH keys" columns={columns} rows={keys} idOf={({ id }) => id} />
}

function AddSshKeyDialog({ onClose }: { readonly onClose: () => void }) {
  const api = useApi()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [publicKey, setPublicKey] = useState('')
  const add = async () => {
    await api.ssh.addKey({ publicKey: publicKey.trim(), ...(name.trim() !== '' && { name: name.trim() }) })
    await queries.invalidateQueries({ queryKey: ['ssh_key'] })
  }
  return (
    <FormDialog
      open
      title="Add an SSH key"
      submit="Add"
      canSubmit={publicKey.trim() !== ''}
      onSubmit={add}
      onClose={onClose}
    >
      <Field label="Public key" hint="The content of a file such as ~/.ssh/id_ed25519.pub. Never paste a private key.">
        <Area
          value={publicKey}
          onChange={(event) => setPublicKey(event.currentTarget.value)}
          placeholder="ssh-ed25519 AAAA… you@laptop"
          spellCheck={false}
          autoFocus
        />
      </Field>
      <Field label="Name" hint="Default: the comment of the key.">
        <Input value={name} onValueChange={setName} maxLength={100} />
      </Field>
    </FormDialog>
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { useSession } from '../../session/session.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { ErrorText } from '../../ui/error-panel.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Facts, Section } from '../../ui/page.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { useAttempt } from '../account/use-attempt.ts'
import { leaveWorkspace } from './leave-workspace.ts'

/** Name, address and end of the workspace. */
export function WorkspaceSettings() {
  const { api, workspace, can } = useSession()
  const [isCreating, setCreating] = useState(false)
  const query = useQuery({
    queryKey: ['workspace', workspace.id],
    queryFn: async ({ signal }) => api.workspaces.get(workspace.id, { signal }),
  })
  return (
    <>
      <Section
        title="Workspace"
        actions={
          <Button icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
            New workspace
          </Button>
        }
      >
        <div className="flex flex-col gap-5">
          <QueryView query={query}>
            {({ id, role, plan, members, createdAt, suspended }) => (
              <Facts
                facts={{
                  Id: <span className="font-mono text-xs break-all">{id}</span>,
                  Plan: <span>{plan}</span>,
                  'Your role': role,
                  Members: members,
                  Made: <Time at={createdAt} />,
                  ...(suspended && { State: <Badge tone="bad">suspended: nothing new can start</Badge> }),
                }}
              />
            )}
          </QueryView>
          {can('workspace:update') && <NameForm />}
        </div>
      </Section>
      {can('workspace:delete') && <DeleteWorkspace />}
      {isCreating && <NewWorkspaceDialog onClose={() => setCreating(false)} />}
    </>
  )
}

function NameForm() {
  const { api, workspace } = useSession()
  const queries = useQueryClient()
  const tell = useTell()
  const { error, isBusy, attempt } = useAttempt()
  const [name, setName] = useState(workspace.name)
  const [slug, setSlug] = useState(workspace.slug)
  const hasChanged = name.trim() !== workspace.name || slug !== workspace.slug
  const save = (event: FormEvent) => {
    event.preventDefault()
    void attempt(async () => {
      await api.workspaces.update(workspace.id, { name: name.trim(), slug })
      await queries.invalidateQueries({ queryKey: ['me'] })
      tell.done('Saved')
    })
  }
  return (
    <form onSubmit={save} className="flex max-w-md flex-col gap-4 border-t pt-4">
      <Field label="Name">
        <Input value={name} onValueChange={setName} maxLength={100} required />
      </Field>
      <Field label="Short name" hint="Small letters, digits and hyphens. Unique in this service.">
        <Input value={slug} onValueChange={setSlug} maxLength={64} required spellCheck={false} />
      </Field>
      {error !== null && <ErrorText error={error} />}
      <div>
        <Button type="submit" look="primary" busy={isBusy} disabled={!hasChanged || name.trim() === ''}>
          Save
        </Button>
      </div>
    </form>
  )
}

function DeleteWorkspace() {
  const { api, workspace } = useSession()
  const [isAsking, setAsking] = useState(false)
  const [typed, setTyped] = useState('')
  return (
    <Section title="Delete the workspace">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-muted">
          Its sandboxes, databases, volumes, apps, templates and keys are deleted with it. Members lose access at once.
        </p>
        <Button look="danger" onClick={() => setAsking(true)}>
          Delete
        </Button>
      </div>
      {isAsking && (
        <FormDialog
          open
          look="danger"
          title={`Delete ${workspace.name}?`}
          description="Everything in it is lost. This cannot be undone."
          submit="Delete the workspace"
          canSubmit={typed === workspace.name}
          onSubmit={async () => {
            await api.workspaces.delete(workspace.id)
            leaveWorkspace()
          }}
          leaves
          onClose={() => setAsking(false)}
        >
          <Field label={`Type the name: ${workspace.name}`}>
            <Input value={typed} onValueChange={setTyped} autoComplete="off" autoFocus />
          </Field>
        </FormDialog>
      )}
    </Section>
  )
}

/** Makes a workspace and goes there. */
function NewWorkspaceDialog({ onClose }: { readonly onClose: () => void }) {
  const { api, choose } = useSession()
  const [name, setName] = useState('')
  return (
    <FormDialog
      open
      title="New workspace"
      description="You become its owner. It has its own sandboxes, members, keys and bill."
      submit="Create"
      canSubmit={name.trim() !== ''}
      leaves
      onSubmit={async () => choose((await api.workspaces.create({ name: name.trim() })).id)}
      onClose={onClose}
    >
      <Field label="Name">
        <Input value={name} onValueChange={setName} maxLength={100} autoFocus required />
      </Field>
    </FormDialog>
  )
}

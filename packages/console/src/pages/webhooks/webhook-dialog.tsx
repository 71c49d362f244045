import type { WebhookInfo } from '@offshoot/sdk'
import { useState } from 'react'
import { FormDialog } from '../../ui/dialog.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { filtersOf, formOf, GROUPS } from './webhook-form.ts'

export interface WebhookFields {
  readonly url: string
  readonly events: string[]
  readonly objects: string[]
  readonly description: string
}

interface WebhookDialogProps {
  /** The webhook to change; without it a new one is made. */
  readonly webhook?: WebhookInfo
  readonly save: (fields: WebhookFields) => Promise<unknown>
  readonly onClose: () => void
}

/** The form of a webhook. */
export function WebhookDialog({ webhook, save, onClose }: WebhookDialogProps) {
  const [initial] = useState(() => formOf(webhook?.events ?? [], webhook?.objects ?? []))
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [description, setDescription] = useState(webhook?.description ?? '')
  const [groups, setGroups] = useState<ReadonlySet<string>>(initial.groups)
  const [types, setTypes] = useState(initial.types)
  const [objects, setObjects] = useState(initial.objects)
  const toggle = (group: string) => {
    const next = new Set(groups)
    if (!next.delete(group)) next.add(group)
    setGroups(next)
  }
  return (
    <FormDialog
      open
      title={webhook === undefined ? 'New webhook' : 'Change the webhook'}
      submit={webhook === undefined ? 'Create' : 'Save'}
      canSubmit={url.trim() !== ''}
      onSubmit={async () =>
        save({ url: url.trim(), description: description.trim(), ...filtersOf(groups, types, objects) })
      }
      onClose={onClose}
    >
      <Field label="Address" hint="Gets a POST for each event. It must be a public address.">
        <Input
          type="url"
          value={url}
          onValueChange={setUrl}
          placeholder="https://ci.example.com/hook"
          autoFocus
          required
        />
      </Field>
      <Field label="Description">
        <Input value={description} onValueChange={setDescription} maxLength={200} />
      </Field>
      <fieldset>
        <legend className="mb-1 text-xs font-medium">Events: all, or only these</legend>
        <div className="flex flex-wrap gap-x-4 gap-y-1.5">
          {GROUPS.map((group) => (
            <label key={group} className="flex items-center gap-1.5">
              <input type="checkbox" checked={groups.has(group)} onChange={() => toggle(group)} />
              <code>{group}.*</code>
            </label>
          ))}
        </div>
      </fieldset>
      <Field label="Single types of events" hint="E.g. build.failed, deploy.live">
        <Input value={types} onValueChange={setTypes} spellCheck={false} />
      </Field>
      <Field label="Only events of these objects" hint="Ids, or names of templates. Empty: of all objects.">
        <Input value={objects} onValueChange={setObjects} spellCheck={false} />
      </Field>
    </FormDialog>
  )
}

import type { Sandbox } from '@offshoot/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { FormDialog } from '../../../ui/dialog.tsx'
import { Check, Field, Input } from '../../../ui/field.tsx'
import { useTell } from '../../../ui/toasts.tsx'

/** Makes a template of a sandbox. */
export function TemplateDialog({ sandbox, onClose }: { readonly sandbox: Sandbox; readonly onClose: () => void }) {
  const tell = useTell()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [memory, setMemory] = useState(false)
  const [replace, setReplace] = useState(false)
  const [startCmd, setStartCmd] = useState('')
  const build = async () => {
    const asked = { name, memory, replace, ...(!memory && startCmd !== '' && { startCmd }) }
    const started = await sandbox.makeTemplate(asked)
    await queries.invalidateQueries({ queryKey: ['build', 'list'] })
    void tell.whether(started.wait(), `The template ${name} is ready`)
  }
  return (
    <FormDialog
      title="Make a template"
      description="New sandboxes start from a copy of this one. It goes on meanwhile."
      open
      submit="Make it"
      canSubmit={name !== ''}
      onSubmit={build}
      onClose={onClose}
    >
      <Field label="Name">
        <Input value={name} onValueChange={setName} autoFocus spellCheck={false} required />
      </Field>
      <Check
        label="With its memory, so that running programs go on"
        checked={memory}
        toggle={() => setMemory(!memory)}
      />
      {!memory && (
        <Field label="Start command" hint="Without one, that of the present template.">
          <Input value={startCmd} onValueChange={setStartCmd} spellCheck={false} className="font-mono" />
        </Field>
      )}
      <Check label="Replace a template of that name" checked={replace} toggle={() => setReplace(!replace)} />
    </FormDialog>
  )
}

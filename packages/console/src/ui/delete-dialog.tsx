import { type ReactNode, useState } from 'react'
import { FormDialog } from './dialog.tsx'
import { Field, Input } from './field.tsx'

interface DeleteDialogProps {
  /** E.g. `database`. */
  readonly kind: string
  /** What the user types. */
  readonly name: string
  /** What is lost. */
  readonly children: ReactNode
  readonly run: () => Promise<unknown>
  readonly onClose: () => void
  /** `run` goes to another page. */
  readonly leaves?: boolean
}

/** Deletes what cannot be made again, once its name was typed. */
export function DeleteDialog({ kind, name, children, run, onClose, leaves = false }: DeleteDialogProps) {
  const [typed, setTyped] = useState('')
  return (
    <FormDialog
      open
      title={`Delete the ${kind}?`}
      description={children}
      submit={`Delete the ${kind}`}
      look="danger"
      leaves={leaves}
      canSubmit={typed === name}
      onSubmit={run}
      onClose={onClose}
    >
      <Field label={`Type its name to confirm`} hint={<span className="plaintext font-mono">{name}</span>}>
        <Input value={typed} onValueChange={setTyped} autoComplete="off" spellCheck={false} autoFocus />
      </Field>
    </FormDialog>
  )
}

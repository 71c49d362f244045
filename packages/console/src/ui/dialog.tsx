import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { type FormEvent, type ReactNode, useState } from 'react'
import { Button, buttonClasses, type ButtonLook } from './button.tsx'
import { ErrorText } from './error-panel.tsx'

interface DialogProps {
  readonly title: string
  readonly description?: ReactNode
  readonly open: boolean
  readonly onClose: () => void
  readonly children: ReactNode
  readonly wide?: boolean
}

export function Dialog({ title, description, open, onClose, children, wide = false }: DialogProps) {
  return (
    <Base.Root open={open} onOpenChange={(isOpen) => isOpen || onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <Base.Popup
          className={`fixed top-1/2 left-1/2 z-50 flex max-h-[90dvh] w-[calc(100vw-1.5rem)] -translate-1/2 flex-col overflow-auto rounded-lg border bg-surface p-5 shadow-xl ${wide ? 'max-w-3xl' : 'max-w-lg'}`}
        >
          <div className="mb-3 flex items-start justify-between gap-3">
            <div className="min-w-0">
              <Base.Title className="text-base font-semibold">{title}</Base.Title>
              {description !== undefined && (
                <Base.Description className="mt-1 text-sm text-muted">{description}</Base.Description>
              )}
            </div>
            <Base.Close className={buttonClasses('quiet', true)} aria-label="Close">
              <X size={16} aria-hidden />
            </Base.Close>
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

interface OnceDialogProps extends Omit<DialogProps, 'open'> {
  /** What the user says by closing it. */
  readonly done?: string
}

/** Shows what is shown only once: a secret that the service does not keep. */
export function OnceDialog({ done = 'I have copied it', children, ...rest }: OnceDialogProps) {
  return (
    <Dialog open {...rest}>
      <div className="flex min-w-0 flex-col gap-3">
        {children}
        <div className="flex justify-end">
          <Button look="primary" onClick={rest.onClose}>
            {done}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

interface FormDialogProps extends Omit<DialogProps, 'children'> {
  readonly submit: string
  readonly look?: ButtonLook
  /** The dialog closes when it succeeds, and shows its error otherwise. */
  readonly onSubmit: () => Promise<unknown>
  /** `onSubmit` goes to another page, which ends the dialog. */
  readonly leaves?: boolean
  readonly canSubmit?: boolean
  readonly children?: ReactNode
}

/** A dialog with a form and its two buttons. */
export function FormDialog({
  submit,
  look = 'primary',
  onSubmit,
  leaves = false,
  canSubmit = true,
  children,
  ...rest
}: FormDialogProps) {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const send = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    try {
      await onSubmit()
      if (!leaves) rest.onClose()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog {...rest}>
      <form onSubmit={(event) => void send(event)} className="flex flex-col gap-4">
        {children}
        {error !== null && <ErrorText error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={rest.onClose}>Cancel</Button>
          <Button type="submit" look={look} busy={isBusy} disabled={!canSubmit}>
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

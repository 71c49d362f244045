import { Toast } from '@base-ui/react/toast'
import { X } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import { buttonClasses } from './button.tsx'
import { classes } from './classes.ts'
import { explain } from './error-panel.tsx'

/** Milliseconds for which a message stays. An error stays until it is closed. */
const STAY_MS = 5000

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider timeout={STAY_MS} limit={4}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="fixed right-3 bottom-3 z-60 flex w-[calc(100vw-1.5rem)] flex-col gap-2 sm:w-96">
          <Toasts />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function Toasts() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      // Base UI hides a message without focus from screen readers, although the Tab key reaches it and its button. It also
      // calls it a dialog, although it is a part of the page.
      aria-hidden={false}
      role="group"
      aria-modal={undefined}
      className={classes('rounded-md border bg-surface shadow-lg', toast.type === 'error' && 'border-bad')}
    >
      <Toast.Content className="flex items-start gap-2 p-3">
        <div className="min-w-0 grow">
          <Toast.Title className="plaintext m-0 text-sm font-semibold" />
          <Toast.Description className="plaintext m-0 text-sm text-muted" />
        </div>
        <Toast.Close className={buttonClasses('quiet', true)} aria-label="Close" aria-hidden={false}>
          <X size={14} aria-hidden />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}

export interface Tell {
  readonly done: (title: string) => void
  readonly failed: (error: unknown) => void
  /** Runs an action. Tells its error, and `done` when it succeeds. */
  readonly whether: (action: Promise<unknown>, done?: string) => Promise<void>
}

/** Short messages at the edge of the page. */
export function useTell(): Tell {
  const { add } = Toast.useToastManager()
  return useMemo(() => {
    const done = (title: string) => void add({ title })
    const failed = (error: unknown) => {
      const { title, text, requestId } = explain(error)
      const description = requestId === null ? text : `${text} (request ${requestId})`
      add({ title, description, type: 'error', priority: 'high', timeout: 0 })
    }
    const whether = async (action: Promise<unknown>, said?: string) => {
      try {
        await action
        if (said !== undefined) done(said)
      } catch (error) {
        failed(error)
      }
    }
    return { done, failed, whether }
  }, [add])
}

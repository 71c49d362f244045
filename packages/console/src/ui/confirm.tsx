import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'
import { FormDialog } from './dialog.tsx'

interface Question {
  readonly title: string
  readonly description: ReactNode
  /** The verb on the button. */
  readonly action: string
  /** Runs while the dialog is open, which shows its error. */
  readonly run: () => Promise<unknown>
}

const Context = createContext<(question: Question) => void>(() => undefined)

/** Asks before something is lost. */
export function ConfirmProvider({ children }: { readonly children: ReactNode }) {
  const [question, setQuestion] = useState<Question | null>(null)
  const close = useCallback(() => setQuestion(null), [])
  return (
    <Context value={setQuestion}>
      {children}
      {question !== null && (
        <FormDialog
          open
          title={question.title}
          description={question.description}
          submit={question.action}
          look="danger"
          onSubmit={question.run}
          onClose={close}
        />
      )}
    </Context>
  )
}

export function useConfirm(): (question: Question) => void {
  return useContext(Context)
}

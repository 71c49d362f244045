import { ApiError, ConnectionError } from '@offshoot/sdk'
import { useQueryErrorResetBoundary } from '@tanstack/react-query'
import { CircleSlash, Ghost, type LucideIcon, PlugZap, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { SignedOutError, SignInError } from '../session/token.ts'
import { Button } from './button.tsx'

interface Explained {
  readonly icon: LucideIcon
  readonly title: string
  readonly text: string
  readonly requestId: string | null
}

/** What an error means to a person. */
export function explain(error: unknown): Explained {
  if (error instanceof ApiError) {
    const { status, body, requestId } = error
    const text = typeof body.detail === 'string' ? `${body.error}: ${body.detail}` : body.error
    if (status === 404)
      return {
        icon: Ghost,
        title: 'Not found',
        text: 'It does not exist, was deleted, or belongs to another workspace.',
        requestId,
      }
    if (status === 401 || status === 403) return { icon: CircleSlash, title: 'Not permitted', text, requestId }
    return { icon: TriangleAlert, title: status >= 500 ? 'The service failed' : 'Refused', text, requestId }
  }
  if (error instanceof SignInError) {
    return { icon: CircleSlash, title: 'Refused', text: error.message, requestId: error.requestId }
  }
  if (error instanceof SignedOutError) {
    return { icon: CircleSlash, title: 'You are signed out', text: 'Sign in, and do it again.', requestId: null }
  }
  if (error instanceof ConnectionError) {
    return { icon: PlugZap, title: 'No connection', text: 'The service cannot be reached.', requestId: null }
  }
  const text = error instanceof Error ? error.message : String(error)
  return { icon: TriangleAlert, title: 'Something went wrong', text, requestId: null }
}

/** An error in one paragraph, inside a form. */
export function ErrorText({ error }: { readonly error: unknown }) {
  const { text, requestId } = explain(error)
  return (
    <p role="alert" className="plaintext rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
      {text}
      {requestId !== null && <span className="block font-mono text-xs">request {requestId}</span>}
    </p>
  )
}

interface ErrorPanelProps {
  readonly error: unknown
  readonly retry?: () => void
  /** It stands instead of a whole page. */
  readonly ofPage?: boolean
}

/** Instead of a page or a part of one. */
export function ErrorPanel({ error, retry, ofPage = false }: ErrorPanelProps) {
  const { reset } = useQueryErrorResetBoundary()
  const { icon: Icon, title, text, requestId } = explain(error)
  const again = () => {
    reset()
    retry?.()
  }
  return (
    <Panel icon={<Icon size={28} aria-hidden />} title={title} role="alert" ofPage={ofPage}>
      <p className="plaintext max-w-prose text-muted">{text}</p>
      {requestId !== null && <p className="font-mono text-xs text-muted">request {requestId}</p>}
      {retry !== undefined && <Button onClick={again}>Try again</Button>}
    </Panel>
  )
}

interface PanelProps {
  readonly icon: ReactNode
  readonly title: string
  readonly role?: 'alert' | 'status'
  /** It stands instead of a whole page. */
  readonly ofPage?: boolean
  readonly children?: ReactNode
}

/** The middle of an otherwise empty page. */
export function Panel({ icon, title, role, ofPage = false, children }: PanelProps) {
  const Heading = ofPage ? 'h1' : 'h2'
  return (
    <div role={role} className="flex flex-col items-center gap-3 px-4 py-16 text-center">
      <div className="text-muted">{icon}</div>
      <Heading className="text-base font-semibold">{title}</Heading>
      {children}
    </div>
  )
}

import { useEffect, useRef, useState } from 'react'
import { useApi } from '../../../session/session.tsx'
import { Button } from '../../../ui/button.tsx'
import { LiveTerminal } from './live-terminal.ts'
import type { ConnectionState } from './session-connection.ts'
import type { ScreenOptions } from './xterm.ts'

interface TerminalViewProps {
  readonly sandboxId: string
  readonly session: string
  readonly isShown: boolean
  readonly options: ScreenOptions
  readonly onLeave: () => void
  readonly onClose: () => void
}

/** One terminal. It connects when it is shown for the first time. */
export function TerminalView(props: TerminalViewProps) {
  const { isShown } = props
  const [hasBegun, setBegun] = useState(isShown)
  if (isShown && !hasBegun) setBegun(true)
  return hasBegun ? <Live {...props} /> : null
}

function Live({ sandboxId, session, isShown, options, onLeave, onClose }: TerminalViewProps) {
  const api = useApi()
  const element = useRef<HTMLDivElement>(null)
  const [terminal, setTerminal] = useState<LiveTerminal | null>(null)
  const [state, setState] = useState<ConnectionState>({ is: 'connecting' })
  const latest = useRef({ options, onLeave })
  useEffect(() => {
    latest.current = { options, onLeave }
    terminal?.set(options)
  }, [terminal, options, onLeave])
  useEffect(() => {
    if (element.current === null) return
    const made = new LiveTerminal(element.current, latest.current.options, {
      address: async (size) =>
        api.authorizedUrl('GET /v1/sandboxes/{id}/exec/pty', { path: { id: sandboxId }, query: { ...size, session } }),
      onState: setState,
      onLeave: () => latest.current.onLeave(),
    })
    setTerminal(made)
    return () => made.dispose()
  }, [api, sandboxId, session])
  useEffect(() => {
    if (isShown) terminal?.focus()
  }, [isShown, terminal])
  return (
    <div className="flex h-full flex-col" data-state={state.is}>
      <div ref={element} className="min-h-0 grow overflow-hidden" />
      <Notice state={state} onAgain={() => terminal?.again()} onClose={onClose} />
    </div>
  )
}

interface NoticeProps {
  readonly state: ConnectionState
  readonly onAgain: () => void
  readonly onClose: () => void
}

function Notice({ state, onAgain, onClose }: NoticeProps) {
  return (
    <div role="status">
      {state.is === 'broken' && (
        <p className="flex flex-wrap items-center gap-2 bg-warn-soft px-3 py-2 text-warn">
          <span className="grow">The connection is lost. Programs go on; trying again…</span>
          <Button small onClick={onAgain}>
            Try now
          </Button>
        </p>
      )}
      {state.is === 'stopped' && (
        <p className="flex flex-wrap items-center gap-2 bg-raised px-3 py-2 text-muted">
          <span className="grow">The sandbox has stopped.</span>
          <Button small look="primary" onClick={onAgain}>
            Connect again
          </Button>
        </p>
      )}
      {state.is === 'exited' && (
        <p className="flex flex-wrap items-center gap-2 bg-raised px-3 py-2 text-muted">
          <span className="grow">Ended with exit code {state.code}.</span>
          <Button small look="primary" onClick={onAgain}>
            Start again
          </Button>
          <Button small onClick={onClose}>
            Close
          </Button>
        </p>
      )}
    </div>
  )
}

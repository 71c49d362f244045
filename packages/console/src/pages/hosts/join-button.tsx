import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { OnceDialog } from '../../ui/dialog.tsx'
import { Snippet } from '../../ui/snippet.tsx'
import { Time } from '../../ui/time.tsx'
import { useTell } from '../../ui/toasts.tsx'
import { useOperator } from './operator-context.ts'

interface Token {
  readonly token: string
  readonly expires_at: string
}

/** Makes a token with which one machine can join, and shows the command for that machine once. */
export function JoinButton() {
  const api = useOperator()
  const tell = useTell()
  const [isBusy, setBusy] = useState(false)
  const [made, setMade] = useState<Token | null>(null)
  const make = async () => {
    setBusy(true)
    try {
      setMade(await api.request('POST /v1/admin/hosts/tokens', {}))
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <Button
        look="primary"
        icon={<Plus size={16} aria-hidden />}
        busy={isBusy}
        onClick={() => void tell.whether(make(), 'Token made')}
      >
        Add a host
      </Button>
      {made !== null && (
        <OnceDialog
          title="Add a host"
          description="Run this as root on the new machine. The token is shown only here, and lets one machine join."
          onClose={() => setMade(null)}
        >
          <Snippet label="Command" text={`bin/up --join ${location.origin} --token ${made.token}`} />
          <p className="text-muted">
            The token ends <Time at={made.expires_at} />.
          </p>
        </OnceDialog>
      )}
    </>
  )
}

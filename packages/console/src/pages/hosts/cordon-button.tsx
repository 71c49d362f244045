import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { useTell } from '../../ui/toasts.tsx'
import type { Host } from './host-queries.ts'
import { useOperator } from './operator-context.ts'

/** Keeps new sandboxes away from a host, or lets them on it again. */
export function CordonButton({ host }: { readonly host: Host }) {
  const api = useOperator()
  const queries = useQueryClient()
  const tell = useTell()
  const [isBusy, setBusy] = useState(false)
  const isCordoned = host.cordoned_at !== null
  const change = async () => {
    setBusy(true)
    try {
      await api.request(isCordoned ? 'POST /v1/admin/hosts/{id}/uncordon' : 'POST /v1/admin/hosts/{id}/cordon', {
        path: { id: host.id },
      })
      await queries.invalidateQueries({ queryKey: ['operator', 'hosts'] })
    } finally {
      setBusy(false)
    }
  }
  return (
    <div className="mt-4 flex flex-wrap items-center justify-between gap-3">
      <p className="text-muted">{whatStarts(host)}</p>
      <Button busy={isBusy} onClick={() => void tell.whether(change(), isCordoned ? 'Uncordoned' : 'Cordoned')}>
        {isCordoned ? 'Uncordon' : 'Cordon'}
      </Button>
    </div>
  )
}

function whatStarts({ state, cordoned_at: cordonedAt }: Host): string {
  if (state === 'draining') return 'Nothing new starts here. Its sandboxes move to other hosts until you uncordon it.'
  if (state === 'lost') return 'Nothing new starts here: no control process hears this host.'
  if (state === 'foreign') return 'Nothing new starts here: this host belongs to another cluster.'
  return cordonedAt === null ? 'New sandboxes may start here.' : 'Nothing new starts here. What runs here goes on.'
}

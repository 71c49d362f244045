import { RefreshCw } from 'lucide-react'
import { Button } from './button.tsx'

interface RefreshButtonProps {
  readonly busy: boolean
  readonly refetch: () => Promise<unknown>
}

/** Reads what a page shows again. */
export function RefreshButton({ busy, refetch }: RefreshButtonProps) {
  return (
    <Button icon={<RefreshCw size={15} aria-hidden />} busy={busy} onClick={() => void refetch()}>
      Refresh
    </Button>
  )
}

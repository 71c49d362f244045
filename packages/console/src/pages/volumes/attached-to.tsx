import type { VolumeInfo } from '@offshoot/sdk'
import { Link } from '@tanstack/react-router'
import { Badge } from '../../ui/badge.tsx'

/** The sandboxes that have the volume. */
export function AttachedTo({ attachments }: Pick<VolumeInfo, 'attachments'>) {
  if (attachments.length === 0) return <span className="text-muted">no sandbox</span>
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      {attachments.map(({ sandboxId: id, readOnly }) => (
        <span key={id} className="inline-flex items-center gap-1">
          <Link to="/sandboxes/$id" params={{ id }} className="font-mono text-xs">
            {id.slice(0, 8)}
          </Link>
          <Badge tone={readOnly ? 'neutral' : 'accent'}>{readOnly ? 'reads' : 'writes'}</Badge>
        </span>
      ))}
    </span>
  )
}

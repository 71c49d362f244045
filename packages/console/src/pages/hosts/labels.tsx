import { Badge } from '../../ui/badge.tsx'
import { labelLines } from './host-labels.ts'
import type { Host } from './host-queries.ts'

/** The zone and the labels of a host, or those that a workspace requires; nothing if there are none. */
export function Labels({ labels, zone }: Pick<Host, 'labels' | 'zone'>) {
  const lines = labelLines(labels)
  if (zone === null && lines.length === 0) return null
  return (
    <span className="mt-1 flex min-w-0 flex-wrap gap-1">
      {zone !== null && <Badge tone="accent">{zone}</Badge>}
      {lines.map((line) => (
        <span key={line} className="rounded-full bg-raised px-2 py-0.5 text-xs font-medium break-all text-muted">
          {line}
        </span>
      ))}
    </span>
  )
}

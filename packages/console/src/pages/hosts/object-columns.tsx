import type { Column } from '../../ui/table.tsx'

/** An object of a workspace on a host. */
interface HostObject {
  readonly kind: string
  readonly id: string
  readonly workspace_id: string
}

/** @param title of the column with kind and id */
export function objectColumns(title: string): readonly Column<HostObject>[] {
  return [
    {
      title,
      cell: ({ kind, id }) => (
        <span>
          {kind} <span className="font-mono text-xs break-all">{id}</span>
        </span>
      ),
    },
    {
      title: 'Workspace',
      wide: true,
      cell: ({ workspace_id: workspace }) => <span className="font-mono text-xs break-all">{workspace}</span>,
    },
  ]
}

import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { classes } from './classes.ts'

export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => ReactNode
  /** Hidden on narrow screens. */
  readonly wide?: boolean
  readonly right?: boolean
}

interface TableProps<T> {
  /** What the rows are, for screen readers. */
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly idOf: (row: T) => string
  /** Checkboxes at the left. */
  readonly selection?: Selection
  /** Called when the last of a hundred rows or more comes into view, for lists that are read page by page. */
  readonly onEnd?: () => void
}

export interface Selection {
  readonly ids: ReadonlySet<string>
  readonly change: (ids: ReadonlySet<string>) => void
}

const ROW_PX = 45
/** Longer tables keep only the visible rows in the page. */
const VIRTUAL_FROM = 100

/** Rows of objects. Ten thousand of them scroll, because only those in view exist. */
export function Table<T>(props: TableProps<T>) {
  return props.rows.length < VIRTUAL_FROM ? (
    <Frame {...props}>{props.rows.map((row) => renderRow(props, row))}</Frame>
  ) : (
    <LongTable {...props} />
  )
}

function LongTable<T>(props: TableProps<T>) {
  const scroller = useRef<HTMLDivElement>(null)
  const { rows, idOf, onEnd } = props
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => idOf(rows[index] as T),
    estimateSize: () => ROW_PX,
    overscan: 12,
  })
  const items = virtual.getVirtualItems()
  const isAtEnd = items.at(-1)?.index === rows.length - 1
  useEffect(() => {
    if (isAtEnd) onEnd?.()
  }, [isAtEnd, rows.length, onEnd])
  const [above, below] = [items[0]?.start ?? 0, virtual.getTotalSize() - (items.at(-1)?.end ?? 0)]
  return (
    <Frame {...props} scroller={scroller} count={rows.length}>
      <Spacer px={above} />
      {items.map(({ index }) => renderRow(props, rows[index] as T, index))}
      <Spacer px={below} />
    </Frame>
  )
}

function Spacer({ px }: { readonly px: number }) {
  return px > 0 ? <tr aria-hidden style={{ height: px }} /> : null
}

interface FrameProps<T> extends TableProps<T> {
  readonly scroller?: React.RefObject<HTMLDivElement | null>
  readonly count?: number
  readonly children: ReactNode
}

function Frame<T>({ label, columns, rows, idOf, selection, scroller, count, children }: FrameProps<T>) {
  const areAll = rows.length > 0 && selection?.ids.size === rows.length
  return (
    <div
      ref={scroller}
      tabIndex={scroller === undefined ? undefined : 0}
      role={scroller === undefined ? undefined : 'region'}
      aria-label={scroller === undefined ? undefined : label}
      className={classes('overflow-auto rounded-lg border bg-surface', scroller !== undefined && 'max-h-[70dvh]')}
    >
      <table aria-label={label} aria-rowcount={count} className="w-full border-collapse text-left">
        <thead className="sticky top-0 z-10 bg-raised text-xs text-muted">
          <tr>
            {selection !== undefined && (
              <th className="w-8 py-2 pl-4">
                <input
                  type="checkbox"
                  aria-label="Select all"
                  checked={areAll}
                  onChange={() => selection.change(new Set(areAll ? [] : rows.map(idOf)))}
                />
              </th>
            )}
            {columns.map(({ title, wide, right }) => (
              <th
                key={title}
                className={classes(
                  'px-2.5 py-2 font-medium md:px-4',
                  wide && 'hidden md:table-cell',
                  right && 'text-right',
                )}
              >
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

function renderRow<T>({ columns, idOf, selection }: TableProps<T>, row: T, index?: number): ReactNode {
  const id = idOf(row)
  const toggle = () => {
    if (selection === undefined) return
    const ids = new Set(selection.ids)
    if (!ids.delete(id)) ids.add(id)
    selection.change(ids)
  }
  return (
    <tr
      key={id}
      aria-rowindex={index === undefined ? undefined : index + 2}
      className="h-11 border-t hover:bg-raised/60"
    >
      {selection !== undefined && (
        <td className="pl-4">
          <input type="checkbox" aria-label={`Select ${id}`} checked={selection.ids.has(id)} onChange={toggle} />
        </td>
      )}
      {columns.map(({ title, cell, wide, right }) => (
        <td
          key={title}
          className={classes('px-2.5 py-1.5 md:px-4', wide && 'hidden md:table-cell', right && 'text-right')}
        >
          {cell(row)}
        </td>
      ))}
    </tr>
  )
}

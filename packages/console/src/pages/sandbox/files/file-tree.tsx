import type { Sandbox } from '@offshoot/sdk'
import { useQueries } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ChevronDown, ChevronRight, File, Folder, LoaderCircle } from 'lucide-react'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { classes } from '../../../ui/classes.ts'
import { folderQuery } from './file-queries.ts'
import { ancestorsOf, isFolder, parentOf, type TreeRow, visibleRows } from './tree.ts'

interface FileTreeProps {
  readonly sandbox: Sandbox
  /** The file or folder that is open. */
  readonly path: string
  readonly onOpen: (path: string) => void
}

const ROW_PX = 28
const INDENT_PX = 14

/** The folders and files. Folders are read when they are expanded. */
export function FileTree({ sandbox, path, onOpen }: FileTreeProps) {
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => new Set(ancestorsOf(path)))
  const [shownPath, setShownPath] = useState(path)
  const [active, setActive] = useState(path)
  if (shownPath !== path) {
    setShownPath(path)
    setActive(path)
    setExpanded(new Set([...expanded, ...ancestorsOf(path)]))
  }
  const folders = [...expanded]
  const listings = useQueries({ queries: folders.map((folder) => folderQuery(sandbox, folder)) })
  const known = new Map(
    folders.flatMap((folder, index) => {
      const found = listings[index]?.data
      return found === undefined ? [] : [[folder, found] as const]
    }),
  )
  const rows = visibleRows('/', expanded, known)
  const toggle = (folder: string, isExpanded: boolean) => {
    const next = new Set(expanded)
    if (isExpanded) next.add(folder)
    else next.delete(folder)
    setExpanded(next)
  }
  return <Rows rows={rows} path={path} active={active} setActive={setActive} toggle={toggle} onOpen={onOpen} />
}

interface RowsProps {
  readonly rows: readonly TreeRow[]
  readonly path: string
  /** Where the keyboard is. */
  readonly active: string
  readonly setActive: (path: string) => void
  readonly toggle: (folder: string, isExpanded: boolean) => void
  readonly onOpen: (path: string) => void
}

const idOf = (path: string) => `file-${encodeURIComponent(path)}`

function Rows({ rows, path, active, setActive, toggle, onOpen }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 15,
  })
  const index = rows.findIndex(({ entry }) => entry.path === active)
  useEffect(() => {
    if (index >= 0) virtual.scrollToIndex(index)
  }, [virtual, index])
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[index]
    const move = (to: number) => {
      const target = rows[Math.max(0, Math.min(to, rows.length - 1))]
      if (target !== undefined) setActive(target.entry.path)
    }
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(index + 1),
      ArrowUp: () => move(index - 1),
      Home: () => move(0),
      End: () => move(rows.length - 1),
      ArrowRight: () => {
        if (row === undefined || !isFolder(row.entry)) return
        if (row.isExpanded) move(index + 1)
        else toggle(row.entry.path, true)
      },
      ArrowLeft: () => {
        if (row === undefined) return
        if (row.isExpanded) toggle(row.entry.path, false)
        else setActive(parentOf(row.entry.path))
      },
      Enter: () => row !== undefined && openRow(row),
    }
    const act = keys[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  const openRow = ({ entry, isExpanded }: TreeRow) => {
    setActive(entry.path)
    if (isFolder(entry)) toggle(entry.path, !(isExpanded && entry.path === path))
    if (entry.pathEncoded === undefined) onOpen(entry.path)
  }
  return (
    <div
      ref={scroller}
      role="tree"
      tabIndex={0}
      aria-label="Files"
      aria-activedescendant={index >= 0 ? idOf(active) : undefined}
      onKeyDown={onKeyDown}
      className="group h-full overflow-auto py-1"
    >
      <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index: at, start }) => {
          const row = rows[at] as TreeRow
          const { entry, level, isExpanded, isLoading } = row
          const isActive = entry.path === active
          return (
            // The tree handles the keys.
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
            <div
              key={entry.path}
              id={idOf(entry.path)}
              role="treeitem"
              tabIndex={-1}
              aria-level={level}
              aria-selected={entry.path === path}
              aria-expanded={isFolder(entry) ? isExpanded : undefined}
              onClick={() => openRow(row)}
              className={classes(
                'absolute inset-x-0 flex cursor-pointer items-center gap-1.5 px-2 whitespace-nowrap hover:bg-raised',
                entry.path === path && '!bg-accent-soft font-medium',
                isActive && 'group-focus-visible:outline-2 group-focus-visible:-outline-offset-2 outline-accent',
              )}
              style={{ top: start, height: ROW_PX, paddingLeft: 8 + (level - 1) * INDENT_PX }}
            >
              <Icon row={row} isLoading={isLoading} />
              <span className="truncate" title={entry.path} dir="auto">
                {entry.name}
              </span>
            </div>
          )
        })}
      </div>
    </div>
  )
}

function Icon({ row: { entry, isExpanded }, isLoading }: { readonly row: TreeRow; readonly isLoading: boolean }) {
  const look = { size: 14, 'aria-hidden': true, className: 'shrink-0 text-muted' } as const
  if (isLoading) return <LoaderCircle {...look} className="shrink-0 animate-spin text-muted" />
  if (!isFolder(entry)) return <File {...look} style={{ marginLeft: 18 }} />
  return (
    <>
      {isExpanded ? <ChevronDown {...look} /> : <ChevronRight {...look} />}
      <Folder {...look} />
    </>
  )
}

import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Button } from './button.tsx'
import { classes } from './classes.ts'
import { ErrorText } from './error-panel.tsx'
import { INPUT_CLASSES } from './field.tsx'
import { plainText } from './plain-text.ts'
import type { Followed } from './use-followed.ts'

export interface LogEntry {
  readonly text: string
  /** Before the text, e.g. a time. */
  readonly lead?: string
  readonly isError?: boolean
}

interface LogViewProps {
  readonly label: string
  readonly log: Followed<LogEntry> & { readonly retry: () => void }
  /** Instead of lines, while there are none. */
  readonly empty: ReactNode
  /** Beside the filter. */
  readonly actions?: ReactNode
}

const LINE_PX = 18
/** Pixels from the end within which the view follows new lines. */
const NEAR_END_PX = 40

/** Lines as they arrive. The view follows the end unless the reader scrolls up. */
export function LogView({ label, log, empty, actions }: LogViewProps) {
  const [filter, setFilter] = useState('')
  const word = useDeferredValue(filter.toLowerCase())
  const lines = useMemo(
    () => (word === '' ? log.entries : log.entries.filter(({ text }) => text.toLowerCase().includes(word))),
    [log.entries, word],
  )
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <input
          type="search"
          aria-label={`Filter the ${label.toLowerCase()}`}
          placeholder="Filter lines"
          value={filter}
          onChange={({ currentTarget }) => setFilter(currentTarget.value)}
          className={classes(INPUT_CLASSES, '!w-56')}
        />
        <span className="text-xs text-muted">
          {lines.length} {lines.length === 1 ? 'line' : 'lines'}
          {log.isOver ? ', complete' : log.error === null ? ', following' : ''}
        </span>
        {actions}
      </div>
      {log.error !== null && (
        <div className="flex items-center gap-2">
          <ErrorText error={log.error} />
          <Button small onClick={log.retry}>
            Try again
          </Button>
        </div>
      )}
      {log.entries.length === 0 ? (
        <p className="rounded-lg border bg-surface px-4 py-10 text-center text-muted">{empty}</p>
      ) : (
        <Lines label={label} lines={lines} />
      )}
    </div>
  )
}

function Lines({ label, lines }: { readonly label: string; readonly lines: readonly LogEntry[] }) {
  const scroller = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 30,
  })
  useEffect(() => {
    if (follows.current && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: 'end' })
  }, [lines, virtual])
  const items = virtual.getVirtualItems()
  return (
    <div
      ref={scroller}
      role="log"
      aria-label={label}
      // A scrolling part is scrolled by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        follows.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX
      }}
      className="max-h-[60dvh] min-h-24 overflow-y-auto rounded-lg border bg-surface p-3 font-mono text-xs leading-[18px]"
    >
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        <div className="absolute inset-x-0 top-0" style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
          {items.map(({ index, key }) => {
            const { text, lead, isError = false } = lines[index] as LogEntry
            return (
              <div key={key} data-index={index} ref={virtual.measureElement} className="flex gap-3">
                {lead !== undefined && <span className="shrink-0 text-muted select-none">{lead}</span>}
                <span className={classes('plaintext min-w-0 whitespace-pre-wrap', isError && 'text-bad')}>
                  {plainText(text) || ' '}
                </span>
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

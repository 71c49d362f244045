import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import type { Result } from './run-sql.ts'
import { tabSeparated, textOf } from './values.ts'

const ROW_PX = 29
/** Characters of a cell. A click shows all of them. */
const CELL_CHARS = 200

/** The rows of a statement. Only those in view are in the page. */
export function ResultTable({ result, label }: { readonly result: Result; readonly label: string }) {
  const scroller = useRef<HTMLDivElement>(null)
  const [opened, setOpened] = useState<{ readonly name: string; readonly text: string } | null>(null)
  const { columns, rows } = result
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 20,
  })
  const items = virtual.getVirtualItems()
  const [above, below] = [items[0]?.start ?? 0, virtual.getTotalSize() - (items.at(-1)?.end ?? 0)]
  return (
    <>
      <div
        ref={scroller}
        role="region"
        aria-label={label}
        // A scrolling part is scrolled by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        className="max-h-[50dvh] overflow-auto rounded-lg border bg-surface"
      >
        <table aria-label={label} aria-rowcount={rows.length + 1} className="border-collapse text-left text-xs">
          <thead className="sticky top-0 bg-raised">
            <tr>
              {columns.map(({ name, type }, at) => (
                // oxlint-disable-next-line react/no-array-index-key
                <th key={at} className="border-r px-3 py-1.5 font-medium whitespace-nowrap">
                  <span className="plaintext">{name}</span> <span className="font-normal text-muted">{type}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="font-mono">
            {above > 0 && <tr aria-hidden style={{ height: above }} />}
            {items.map(({ index }) => (
              <tr key={index} aria-rowindex={index + 2} className="border-t hover:bg-raised/60">
                {columns.map(({ name }, at) => (
                  <Cell
                    // Columns may have the same name, and never change their order.
                    // oxlint-disable-next-line react/no-array-index-key
                    key={at}
                    value={rows[index]?.[at]}
                    open={(text) => setOpened({ name: `${name}, row ${index + 1}`, text })}
                  />
                ))}
              </tr>
            ))}
            {below > 0 && <tr aria-hidden style={{ height: below }} />}
          </tbody>
        </table>
      </div>
      <div className="flex gap-2">
        <CopyButton labelled text={tabSeparated(result)} label="Copy the rows" />
      </div>
      {opened !== null && (
        <Dialog wide open title={opened.name} onClose={() => setOpened(null)}>
          <pre className="plaintext max-h-[60dvh] overflow-auto rounded-md bg-raised p-3 text-xs whitespace-pre-wrap">
            {opened.text}
          </pre>
          <div className="mt-3">
            <CopyButton labelled text={opened.text} label="Copy the value" />
          </div>
        </Dialog>
      )}
    </>
  )
}

function Cell({ value, open }: { readonly value: unknown; readonly open: (text: string) => void }) {
  const text = textOf(value)
  const isLong = text.length > CELL_CHARS || text.includes('\n')
  const shown = <span className="plaintext block max-w-96 truncate">{text.slice(0, CELL_CHARS)}</span>
  return (
    <td className="h-[29px] border-r px-3 py-1">
      {value === null ? (
        <span className="text-muted italic">null</span>
      ) : isLong ? (
        <button
          type="button"
          className="cursor-pointer text-left underline decoration-dotted"
          onClick={() => open(text)}
        >
          {shown}
        </button>
      ) : (
        shown
      )}
    </td>
  )
}

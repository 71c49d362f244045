import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import { classes } from './classes.ts'

export interface MenuEntry {
  readonly label: string
  readonly icon?: ReactNode
  readonly danger?: boolean
  readonly disabled?: boolean
  readonly run: () => void
}

interface MenuProps {
  /** The button that opens it. */
  readonly trigger: ReactElement<Record<string, unknown>>
  /** Entries in groups. Empty groups are left out. */
  readonly groups: readonly (readonly MenuEntry[])[]
}

export function Menu({ trigger, groups }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className="z-50 outline-none" sideOffset={4} align="end">
          <Base.Popup className="min-w-44 rounded-md border bg-surface py-1 shadow-lg outline-none">
            {groups
              .filter((group) => group.length > 0)
              .map((group, index) => (
                <div key={group[0]?.label} className={index > 0 ? 'mt-1 border-t pt-1' : ''}>
                  {group.map(({ label, icon, danger = false, disabled = false, run }) => (
                    <Base.Item
                      key={label}
                      disabled={disabled}
                      onClick={run}
                      className={classes(
                        'flex cursor-pointer items-center gap-2 px-3 py-1.5 outline-none select-none data-disabled:cursor-not-allowed data-disabled:opacity-50 data-highlighted:bg-raised',
                        danger && 'text-bad',
                      )}
                    >
                      <span className="flex w-4 justify-center">{icon}</span>
                      <span className="plaintext">{label}</span>
                    </Base.Item>
                  ))}
                </div>
              ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { Boxes, Plus } from 'lucide-react'
import { useEffect } from 'react'
import type { SandboxInfo } from '@offshoot/sdk'
import { useSession } from '../session/session.tsx'
import { NAVIGATION } from './navigation.ts'

/** Sandboxes that are offered. The list of sandboxes finds more. */
const MAX_SANDBOXES = 50

interface CommandMenuProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

const ITEM = 'flex cursor-pointer items-center gap-2 rounded-md px-3 py-2 data-[selected=true]:bg-raised'

/** Goes anywhere by a few letters: Ctrl+K, or Cmd+K. */
export function CommandMenu({ open, onOpenChange }: CommandMenuProps) {
  const { can } = useSession()
  const navigate = useNavigate()
  const queries = useQueryClient()
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      onOpenChange(!open)
    }
    addEventListener('keydown', listener)
    return () => removeEventListener('keydown', listener)
  }, [open, onOpenChange])
  const go = (to: string) => {
    onOpenChange(false)
    void navigate({ to })
  }
  const sandboxes = queries.getQueryData<readonly SandboxInfo[]>(['sandbox', 'list']) ?? []
  return (
    <Command.Dialog
      open={open}
      onOpenChange={onOpenChange}
      label="Go to"
      overlayClassName="fixed inset-0 z-40 bg-black/50"
      contentClassName="fixed top-[15dvh] left-1/2 z-50 w-[calc(100vw-1.5rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-lg border bg-surface shadow-xl"
    >
      <Command.Input
        placeholder="Go to a page or a sandbox"
        className="w-full border-b bg-transparent px-4 py-3 outline-none"
      />
      <Command.List className="max-h-[50dvh] overflow-auto p-2">
        <Command.Empty className="px-3 py-6 text-center text-muted">Nothing found</Command.Empty>
        <Command.Item className={ITEM} onSelect={() => go('/sandboxes?new=true')}>
          <Plus size={16} aria-hidden /> New sandbox
        </Command.Item>
        {NAVIGATION.flat()
          .filter(({ permission }) => permission === undefined || can(permission))
          .map(({ label, to, icon: Icon }) => (
            <Command.Item key={to} className={ITEM} onSelect={() => go(to)}>
              <Icon size={16} aria-hidden /> {label}
            </Command.Item>
          ))}
        {sandboxes.slice(0, MAX_SANDBOXES).map(({ id, template, metadata }) => (
          <Command.Item
            key={id}
            value={`${id} ${template} ${Object.values(metadata).join(' ')}`}
            className={ITEM}
            onSelect={() => go(`/sandboxes/${id}`)}
          >
            <Boxes size={16} aria-hidden />
            <span className="plaintext">{metadata['name'] ?? id}</span>
            <span className="text-muted">{template}</span>
          </Command.Item>
        ))}
      </Command.List>
    </Command.Dialog>
  )
}

import { Eye, EyeOff } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from './button.tsx'
import { CopyButton } from './copy-button.tsx'

interface CopyRowProps {
  readonly label: string
  readonly text: string
  /** Shown until the user asks for {@link CopyRowProps.text}. Copying needs no showing. */
  readonly masked?: string
}

/** A labelled value that is copied with one click. */
export function CopyRow({ label, text, masked }: CopyRowProps) {
  const [isShown, setShown] = useState(masked === undefined)
  return (
    <div className="flex flex-col gap-1">
      <span className="text-xs font-medium">{label}</span>
      <div className="flex items-center gap-1 rounded-md border bg-raised py-1 pr-1 pl-3">
        <code
          // A scrolling part is scrolled by keyboard.
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
          tabIndex={0}
          role="region"
          aria-label={label}
          className="min-w-0 grow overflow-x-auto text-xs whitespace-nowrap"
        >
          {isShown ? text : masked}
        </code>
        {masked !== undefined && (
          <IconButton
            small
            label={isShown ? `Hide: ${label}` : `Show: ${label}`}
            icon={isShown ? <EyeOff size={14} aria-hidden /> : <Eye size={14} aria-hidden />}
            onClick={() => setShown(!isShown)}
          />
        )}
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  )
}

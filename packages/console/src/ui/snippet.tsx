import { CopyButton } from './copy-button.tsx'

interface SnippetProps {
  /** What it is, e.g. `curl`. */
  readonly label: string
  readonly text: string
}

/** Text to copy: a secret, a command, a program. */
export function Snippet({ label, text }: SnippetProps) {
  return (
    <figure className="m-0 min-w-0 overflow-hidden rounded-md border">
      <figcaption className="flex items-center justify-between gap-2 border-b bg-raised py-1 pr-1 pl-3 text-xs text-muted">
        <span className="min-w-0 break-words">{label}</span>
        <CopyButton text={text} label={`Copy: ${label}`} />
      </figcaption>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, also by keyboard */}
      <pre tabIndex={0} aria-label={label} className="m-0 overflow-x-auto p-3 font-mono text-xs whitespace-pre">
        {text}
      </pre>
    </figure>
  )
}

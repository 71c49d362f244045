import { LoaderCircle } from 'lucide-react'
import type { ComponentProps, ReactNode } from 'react'
import { classes } from './classes.ts'

export type ButtonLook = 'primary' | 'plain' | 'quiet' | 'danger'

const LOOKS: Record<ButtonLook, string> = {
  primary: 'bg-accent text-on-accent border-transparent hover:opacity-90',
  plain: 'bg-surface text-ink border-line hover:bg-raised',
  quiet: 'bg-transparent text-ink border-transparent hover:bg-raised',
  danger: 'bg-surface text-bad border-line hover:bg-bad-soft',
}

export function buttonClasses(look: ButtonLook, isSmall = false): string {
  return classes(
    'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap no-underline',
    'cursor-pointer disabled:cursor-not-allowed disabled:opacity-50 data-disabled:cursor-not-allowed data-disabled:opacity-50',
    isSmall ? 'h-7 px-2 text-xs' : 'h-9 px-3 text-sm',
    LOOKS[look],
  )
}

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: ButtonLook
  readonly small?: boolean
  /** Shows that the action runs, and allows no second one. */
  readonly busy?: boolean
  readonly icon?: ReactNode
}

export function Button({
  look = 'plain',
  small = false,
  busy = false,
  icon,
  children,
  className,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={rest.disabled === true || busy}
      aria-busy={busy || undefined}
      className={classes(buttonClasses(look, small), className)}
    >
      {busy ? <LoaderCircle size={16} className="animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  )
}

interface IconButtonProps extends Omit<ButtonProps, 'children'> {
  /** What it does, for screen readers and as a tooltip. */
  readonly label: string
  readonly icon: ReactNode
}

export function IconButton({ label, look = 'quiet', className, ...rest }: IconButtonProps) {
  return (
    <Button
      {...rest}
      look={look}
      aria-label={label}
      title={label}
      className={classes('aspect-square !px-0', className)}
    />
  )
}

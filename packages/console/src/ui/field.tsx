import { Field as Base } from '@base-ui/react/field'
import type { ComponentProps, ReactNode } from 'react'
import { classes } from './classes.ts'

export const INPUT_CLASSES =
  'h-9 w-full min-w-0 rounded-md border border-line-strong/60 bg-surface px-2.5 text-sm text-ink placeholder:text-muted disabled:opacity-60 data-invalid:border-bad'

interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | null | undefined
  readonly children: ReactNode
  readonly className?: string
}

/** A labelled control: an {@link Input}, {@link Area}, or {@link Choice}. */
export function Field({ label, hint, error, children, className }: FieldProps) {
  return (
    <Base.Root className={classes('flex min-w-0 flex-col gap-1', className)} invalid={Boolean(error)}>
      <Base.Label className="text-xs font-medium text-ink">{label}</Base.Label>
      {children}
      {hint !== undefined && <Base.Description className="text-xs text-muted">{hint}</Base.Description>}
      <Base.Error match={Boolean(error)} className="text-xs text-bad">
        {error}
      </Base.Error>
    </Base.Root>
  )
}

export function Input({ className, ...rest }: ComponentProps<typeof Base.Control>) {
  return <Base.Control {...rest} className={classes(INPUT_CLASSES, className as string)} />
}

export function Area({ className, ...rest }: ComponentProps<'textarea'>) {
  return (
    <Base.Control
      render={
        <textarea {...rest} className={classes(INPUT_CLASSES, 'h-auto min-h-20 py-2 font-mono text-xs', className)} />
      }
    />
  )
}

interface FilterChoiceProps {
  readonly label: string
  /** `undefined`: any. */
  readonly value: string | undefined
  readonly options: readonly string[]
  /** With an empty text for any. */
  readonly onChange: (value: string) => void
}

/** Narrows a list to the entries with one value. */
export function FilterChoice({ label, value = '', options, onChange }: FilterChoiceProps) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      className={`${INPUT_CLASSES} !w-auto`}
    >
      <option value="">{label}: any</option>
      {options.map((option) => (
        <option key={option}>{option}</option>
      ))}
    </select>
  )
}

interface CheckProps {
  readonly label: string
  readonly checked: boolean
  readonly toggle: () => void
  readonly className?: string
}

/** A box to tick, with its label. */
export function Check({ label, checked, toggle, className }: CheckProps) {
  return (
    <label className={classes('flex items-center gap-2', className)}>
      <input type="checkbox" checked={checked} onChange={toggle} />
      {label}
    </label>
  )
}

interface ChoiceProps extends Omit<ComponentProps<'select'>, 'onChange'> {
  readonly options: readonly (string | { readonly value: string; readonly label: string })[]
  readonly onChoose?: (value: string) => void
}

/** One of a few values. The browser's own list works everywhere, also on phones. */
export function Choice({ options, onChoose, className, ...rest }: ChoiceProps) {
  return (
    <Base.Control
      render={
        <select
          {...rest}
          className={classes(INPUT_CLASSES, className)}
          onChange={(event) => onChoose?.(event.currentTarget.value)}
        >
          {options.map((option) => {
            const { value, label } = typeof option === 'string' ? { value: option, label: option } : option
            return (
              <option key={value} value={value}>
                {label}
              </option>
            )
          })}
        </select>
      }
    />
  )
}

import { Field, Input } from '../../ui/field.tsx'

const MIN_CHARS = 8
const MAX_CHARS = 128

/** The field `password` of a form that sets one. */
export function NewPassword() {
  return (
    <Field label="Password" hint={`At least ${MIN_CHARS} characters.`}>
      <Input
        name="password"
        type="password"
        autoComplete="new-password"
        minLength={MIN_CHARS}
        maxLength={MAX_CHARS}
        required
      />
    </Field>
  )
}

import { OnceDialog } from '../../ui/dialog.tsx'
import { Snippet } from '../../ui/snippet.tsx'

interface SecretDialogProps {
  readonly secret: string
  readonly onClose: () => void
}

/** Shows the secret of a webhook, once. */
export function SecretDialog({ secret, onClose }: SecretDialogProps) {
  return (
    <OnceDialog
      wide
      title="Secret of the webhook"
      description="Copy it now: it is shown only here. With it, the receiver verifies that a message comes from this service."
      onClose={onClose}
    >
      <Snippet label="Secret" text={secret} />
      <Snippet
        label="Verify a message (TypeScript)"
        text={[
          "import { Webhook } from 'standardwebhooks'",
          '',
          '// Throws if the signature is wrong or old. `body` is the text as it came.',
          `const message = new Webhook('${secret}').verify(body, headers)`,
        ].join('\n')}
      />
    </OnceDialog>
  )
}

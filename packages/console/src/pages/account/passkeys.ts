import { startAuthentication, startRegistration } from '@simplewebauthn/browser'
import { authQuery, authRequest } from '../../session/token.ts'

type RequestOptions = Parameters<typeof startAuthentication>[0]['optionsJSON']
type CreationOptions = Parameters<typeof startRegistration>[0]['optionsJSON']

/** Asks the browser for a passkey of this service, and signs in with it. */
export async function signInWithPasskey(): Promise<void> {
  const optionsJSON = await authQuery<RequestOptions>('passkey/generate-authenticate-options')
  const response = await startAuthentication({ optionsJSON })
  await authRequest('passkey/verify-authentication', { response })
}

/** Makes a passkey. The session must have begun less than a day ago. */
export async function addPasskey(name: string): Promise<void> {
  const query = name === '' ? '' : `?name=${encodeURIComponent(name)}`
  const optionsJSON = await authQuery<CreationOptions>(`passkey/generate-register-options${query}`)
  const response = await startRegistration({ optionsJSON })
  await authRequest('passkey/verify-registration', { response, ...(name !== '' && { name }) })
}

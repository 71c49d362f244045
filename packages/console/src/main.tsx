import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyTheme } from './layout/theme.ts'
import { Refresher } from './live/changes.ts'
import { RefresherProvider } from './live/use-live.ts'
import { createAppRouter } from './router.tsx'
import { onOtherTab, SignedOutError } from './session/token.ts'
import './style.css'
import { ConfirmProvider } from './ui/confirm.tsx'
import { ToastProvider } from './ui/toasts.tsx'

applyTheme()

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The service reports changes, and the SDK repeats requests.
      staleTime: Infinity,
      refetchOnWindowFocus: false,
      retry: false,
    },
  },
  queryCache: new QueryCache({
    onError: (error) => {
      if (error instanceof SignedOutError) goToSignIn()
    },
  }),
})
const router = createAppRouter(queries)

/** The session has ended. The user comes back to the same page. */
function goToSignIn(): void {
  const { pathname, href } = router.state.location
  if (pathname !== '/sign-in') void router.navigate({ to: '/sign-in', search: { next: href } })
}

onOtherTab(() => location.reload())

const root = document.querySelector('#root')
if (root === null) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RefresherProvider value={new Refresher(queries)}>
        <ToastProvider>
          <ConfirmProvider>
            <RouterProvider router={router} />
          </ConfirmProvider>
        </ToastProvider>
      </RefresherProvider>
    </QueryClientProvider>
  </StrictMode>,
)

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyTheme } from './layout/theme.ts'
import { Refresher } from './live/changes.ts'
import { RefresherProvider } from './live/use-live.ts'
import { memberRoute } from './member-route.tsx'
import { createAppRouter } from './router.tsx'
import { onOtherTab, onSessionEnd } from './session/token.ts'
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
})
const router = createAppRouter(queries)

onSessionEnd(() => {
  const { matches, location: here } = router.state
  // The user comes back to the same page. Other pages need no user. The page before the sign-in stays until that has loaded.
  const needsUser = matches.some(({ routeId }) => routeId === memberRoute.id)
  if (needsUser && here.pathname !== '/sign-in') void router.navigate({ to: '/sign-in', search: { next: here.href } })
})

onOtherTab((news) => {
  const { pathname, search } = router.state.location
  // A page that asks for a sign-in goes on where its user wanted to go.
  if (news === 'signed in' && pathname === '/sign-in') location.assign(search.next ?? '/')
  else location.reload()
})

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

"""Best-effort publish/subscribe, as the application sees it."""

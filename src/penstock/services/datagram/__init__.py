"""Best-effort publish/subscribe by content, with content-aware congestion control."""

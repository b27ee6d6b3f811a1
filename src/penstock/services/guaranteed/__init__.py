"""Publish/subscribe in order, exactly once, after Gryphon."""

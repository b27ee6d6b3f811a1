"""Rows as columns: batches, blocks, frames and knowledge."""

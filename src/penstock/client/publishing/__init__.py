"""Publishing: numbering, batches, repetition and receipts."""

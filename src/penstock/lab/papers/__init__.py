"""The papers' experiments: what each paper reports, and what this implementation does."""

"""The experiments of the five papers: what each paper reports, and what this implementation does."""

"""The experiments of the Gryphon paper (guaranteed)."""

"""Opening, inspecting and mending what is on the disk."""

"""One judge for each service: decides, from what applications saw, whether a promise was broken."""

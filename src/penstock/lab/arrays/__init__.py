"""Services as arrays over all clients, for scales that machines do not reach."""
